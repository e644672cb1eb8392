// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.h"

#include "memory/ipc.h"
#include "memory/local_alloc.h"
#include "memory/managed_memory.h"
#include "memory/memory_note.h"
#include "memory/memory_pool.h"
#include "memory/va_reservation.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/route.h"
#include "stream/stream.h"

CUresult shim_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) {
  struct context *context;
  if (!dptr || !bytesize) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = capture_unsafe();
  if (result) return result;
  uint64_t address = 0;
  if (!local_allocate(context, bytesize, &address, &result)) {
    struct misfits misfits = {0};
    do {
      result = context_result(context, op_memAlloc(context->number, bytesize, &address));
    } while (va_allocate_again(&misfits, address, bytesize, &result));
    va_misfits_free(&misfits, context);
  }
  if (result) return result;
  memory_note(context, address, bytesize, RANGE_ALLOCATED);
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                 size_t Height, unsigned int ElementSizeBytes) {
  struct context *context;
  bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
  if (!dptr || !pPitch || !WidthInBytes || !Height || !element) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = capture_unsafe();
  if (result) return result;
  uint64_t address = 0, pitch = 0;
  struct misfits misfits = {0};
  do {
    result = context_result(context, op_memAllocPitch(context->number, WidthInBytes, Height,
                                                      ElementSizeBytes, &address, &pitch));
  } while (va_allocate_again(&misfits, address, pitch * Height, &result));
  va_misfits_free(&misfits, context);
  if (result) return result;
  memory_note(context, address, pitch * Height, RANGE_ALLOCATED);
  *dptr = address;
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

/** Returns whether a node of a graph allocates the memory at an address. */
static bool is_of_graph(CUdeviceptr address) {
  struct range range;
  return ranges_find(&deviceRanges, address, &range) && range.kind == RANGE_GRAPH;
}

HOOK_TABLE(free_graph_memory, free_hook);

static CUresult free_graph_memory(CUdeviceptr address) {
  bool freed = false;
  FOR_EACH_HOOK(free_graph_memory, free_hook, hook) freed |= (*hook)(address);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** Returns whether it is of another process's pool, of which each process frees what it has opened. */
static bool is_of_opened_pool(CUdeviceptr address) {
  struct range range;
  return ranges_find(&deviceRanges, address, &range) && range.kind == RANGE_OPENED_POOL;
}

/** Takes memory that the program may free out of the table; false if none begins here. */
static bool take_allocated(CUdeviceptr address, struct range *range) {
  return ranges_find(&deviceRanges, address, range) && range->base == address &&
         range->kind != RANGE_GLOBAL && range->kind != RANGE_MAPPED &&
         range->kind != RANGE_VIRTUAL && range->kind != RANGE_OPENED &&
         ranges_remove(&deviceRanges, address, range);
}

CUresult shim_cuMemFree_v2(CUdeviceptr dptr) {
  struct context *context;
  struct range range;
  CUresult result = context_or_none(&context);
  if (!result) result = capture_unsafe();
  if (result || !dptr) return result;
  if (is_of_graph(dptr)) {
    return free_graph_memory(dptr);
  }
  if (is_of_opened_pool(dptr)) return ipc_close(dptr, RANGE_OPENED_POOL);
  if (!take_allocated(dptr, &range)) return CUDA_ERROR_INVALID_VALUE;
  return range.kind == RANGE_MANAGED ? managed_free(&range)
                                     : op_memFree(range.context->number, dptr);
}

CUresult shim_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
  struct range range;
  if (!ranges_find(&deviceRanges, dptr, &range) && !ranges_find(&hostRanges, dptr, &range)) {
    return CUDA_ERROR_NOT_FOUND;
  }
  if (pbase) *pbase = range.base;
  if (psize) *psize = range.bytes;
  return CUDA_SUCCESS;
}

// Stream-ordered allocation

static CUresult allocate_async(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                               CUstream hStream) {
  struct context *context;
  uint32_t poolNumber = NUMBER_NULL, stream;
  if (!dptr || !bytesize) return CUDA_ERROR_INVALID_VALUE;
  struct stream *capturing = capture_stream(hStream);
  if (UNLIKELY(capturing != NULL)) return capture_allocate(capturing, bytesize, dptr);
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &stream);
  if (!result && !pool) pool = (CUmemoryPool)(void *)pool_of_device(context->device);
  struct context *streamContext = context;
  if (!result && pool) result = pool_number(pool, &context, &poolNumber);
  if (result) return result;
  // The pool has its memory on another server than the stream its work.
  if (!connection_same(context->number, streamContext->number)) return CUDA_ERROR_NOT_SUPPORTED;
  uint64_t address = 0;
  struct misfits misfits = {0};
  do {
    result = context_result(
        context, op_memAllocAsync(context->number, bytesize, poolNumber, stream, &address));
  } while (va_allocate_again(&misfits, address, bytesize, &result));
  va_misfits_free(&misfits, context);
  if (result) return result;
  memory_note(context, address, bytesize, RANGE_ASYNC);
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
  return allocate_async(dptr, bytesize, NULL, hStream);
}

CUresult shim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream) {
  return pool ? allocate_async(dptr, bytesize, pool, hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  struct context *context;
  struct range range;
  uint32_t stream;
  struct stream *capturing = capture_stream(hStream);
  if (UNLIKELY(capturing != NULL)) return capture_free(capturing, dptr);
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &stream);
  if (result || !dptr) return result;
  if (is_of_graph(dptr)) {
    return free_graph_memory(dptr);
  }
  if (is_of_opened_pool(dptr)) {
    result = stream_wait(context, stream);
    return result ? result : ipc_close(dptr, RANGE_OPENED_POOL);
  }
  if (!take_allocated(dptr, &range)) return CUDA_ERROR_INVALID_VALUE;
  if (range.kind == RANGE_MANAGED) {
    result = stream_wait(context, stream);
    return result ? result : managed_free(&range);
  }
  struct route route;
  result = route_begin(&route, context, stream, range.context);
  if (result) return result;
  return op_memFreeAsync(route.context->number, dptr, route.stream);
}
