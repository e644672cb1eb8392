// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_memory_ops.h"

#include "context/context.h"
#include "context/memory_ranges.h"
#include "core/handles.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"


enum { MAX_OPERATIONS = 256, WAIT_FLAGS = 3, WAIT_FLUSH = 1 << 30, WRITE_FLAGS = 1 };

static CUresult check(const CUstreamBatchMemOpParams *one) {
  bool unknown = false;
  bool wait = one->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || one->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  bool wide = one->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || one->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  uint64_t bytes = wide ? 8 : 4;
  if (one->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES) return CUDA_ERROR_NOT_SUPPORTED;
  if (one->operation == CU_STREAM_MEM_OP_BARRIER) return CUDA_SUCCESS;
  if (one->operation < CU_STREAM_MEM_OP_WAIT_VALUE_32 || one->operation > CU_STREAM_MEM_OP_BARRIER || one->address % bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (wait && one->flags & WAIT_FLUSH) return CUDA_ERROR_NOT_SUPPORTED;
  if (one->flags & ~(unsigned int)(wait ? WAIT_FLAGS : WRITE_FLAGS)) return CUDA_ERROR_INVALID_VALUE;
  return memory_check(one->address, bytes, &unknown);
}

CUresult stream_memory_check(const CUstreamBatchMemOpParams *operations, unsigned int count,
                             unsigned int flags) {
  if (!operations || !count || count > MAX_OPERATIONS || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  for (unsigned int i = 0; i < count && !result; i++) result = check(&operations[i]);
  return result;
}

static CUresult submit(CUstream handle, const CUstreamBatchMemOpParams *operations,
                       unsigned int count, unsigned int flags) {
  struct context *context;
  uint32_t stream;
  CUresult result = stream_memory_check(operations, count, flags);
  if (result) return result;
  struct stream *capturing = capture_stream(handle);
  if (UNLIKELY(capturing != NULL)) return capture_memory(capturing, operations, count);
  result = context_or_none(&context);
  if (!result) result = stream_number(handle, &context, &stream);
  if (!result) result = before_submit(context, stream);
  if (result) return result;
  return op_streamMemoryOperations(context->number, stream, operations,
                                   count * sizeof *operations);
}

CUresult stream_memory_op(CUstream stream, int operation, CUdeviceptr address,
                          uint64_t value, unsigned int flags) {
  CUstreamBatchMemOpParams one = {
      .operation = operation, .address = address, .value = value, .flags = flags};
  return submit(stream, &one, 1, 0);
}

CUresult shim_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
  return submit(stream, paramArray, count, flags);
}
