// SPDX-License-Identifier: Apache-2.0
#include "memory/ipc.h"

#include "context/context.h"
#include "context/memory_ranges.h"
#include "core/fork.h"
#include "memory/memory_pool.h"
#include "memory/share_token.h"
#include "memory/va_reservation.h"
#include "ops.h"
#include "shim.h"
#include "stream/event.h"

static struct lock lock;  // guards how often memory is opened

static void ipc_reset(void) { lock.word = 0; }

ON_FORK(ipc_reset);

CUresult shim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr) {
  struct context *context;
  struct range range;
  struct token token;
  if (!pHandle) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  // Anywhere in an allocation stands for all of it.
  bool own = ranges_find(&deviceRanges, dptr, &range) && range.kind == RANGE_ALLOCATED;
  if (!own) return CUDA_ERROR_INVALID_VALUE;
  result = context_result(context, op_memShare(context->number, range.base, TOKEN_OUT(token)));
  if (!result) token_put(&token, pHandle);
  return result;
}

/** Counts one more opening of memory that may be open already. */
static CUresult note(struct context *context, uint64_t base, uint64_t bytes, enum range_kind kind) {
  struct range range;
  if (!va_reserve(base, bytes)) {
    op_memClose(context->number, base);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (ranges_remove(&deviceRanges, base, &range)) {
    range.host++;
  } else {
    range = (struct range){.base = base,
                           .bytes = bytes,
                           .context = context,
                           .contextId = context->id,
                           .id = memory_next_id(),
                           .host = 1,
                           .kind = (uint8_t)kind};
  }
  return ranges_add(&deviceRanges, &range) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags) {
  struct context *context;
  struct token token;
  if (!pdptr || Flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = token_get(&handle, &token);
  if (result) return result;
  uint64_t address = 0, bytes = 0;
  lock_take(&lock);
  result = context_result(
      context, op_memOpen(context->number, TOKEN_IN(token), Flags, &address, &bytes));
  if (!result) result = note(context, address, bytes, RANGE_OPENED);
  lock_release(&lock);
  if (!result) *pdptr = address;
  return result;
}

CUresult ipc_close(CUdeviceptr address, enum range_kind kind) {
  struct range range;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  lock_take(&lock);
  if (ranges_find(&deviceRanges, address, &range) && range.base == address && range.kind == kind &&
      ranges_remove(&deviceRanges, address, NULL)) {
    if (--range.host) ranges_add(&deviceRanges, &range);
    result = context_result(range.context, op_memClose(range.context->number, address));
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr) {
  struct context *context;
  struct range range;
  struct token token;
  if (!shareData_out) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  bool own = ranges_find(&deviceRanges, ptr, &range) && range.kind == RANGE_ASYNC;
  if (!own) return CUDA_ERROR_INVALID_VALUE;
  result = context_result(context, op_poolShareMemory(context->number, range.base, TOKEN_OUT(token)));
  if (!result) token_put(&token, shareData_out);
  return result;
}

CUresult shim_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                     CUmemPoolPtrExportData *shareData) {
  struct context *context;
  struct token token;
  uint32_t number;
  if (!ptr_out || !shareData) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = pool_number(pool, &context, &number);
  if (!result) result = token_get(shareData, &token);
  if (result) return result;
  uint64_t address = 0, bytes = 0;
  lock_take(&lock);
  result = context_result(
      context, op_poolOpenMemory(context->number, number, TOKEN_IN(token), &address, &bytes));
  if (!result) result = note(context, address, bytes, RANGE_OPENED_POOL);
  lock_release(&lock);
  if (!result) *ptr_out = address;
  return result;
}

CUresult shim_cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event) {
  struct context *context;
  struct token token;
  uint32_t number;
  if (!pHandle) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_or_none(&context);
  if (!result) result = event_number(event, &context, &number);
  if (result) return result;
  result = context_result(context, op_eventShare(context->number, number, TOKEN_OUT(token)));
  if (!result) token_put(&token, pHandle);
  return result;
}

CUresult shim_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle) {
  struct context *context;
  struct token token;
  if (!phEvent) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = token_get(&handle, &token);
  if (result) return result;
  struct event *event = event_take_opened(context);
  if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
  result = context_result(
      context, op_eventOpen(context->number, TOKEN_IN(token), event->slot.number));
  if (result) {
    arena_give(&events, event);
    return result;
  }
  *phEvent = (CUevent)(void *)event;
  return CUDA_SUCCESS;
}
