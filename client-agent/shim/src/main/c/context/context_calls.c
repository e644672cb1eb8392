// SPDX-License-Identifier: Apache-2.0
// The entry points of contexts: creation, each thread's stack of current contexts, and properties.
#include "context/context.h"
#include "core/fork.h"
#include "ops.h"
#include "shim.h"
#include "transport/device_table.h"

#include <stdatomic.h>

static struct lock limits;  // held while a limit is asked for or set

static void context_calls_reset(void) { limits.word = 0; }
ON_FORK(context_calls_reset);

// Creation

CUresult context_create(CUcontext *pctx, unsigned int flags, CUdevice dev, unsigned int apiVersion) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pctx || flags & ~(unsigned int)CONTEXT_FLAGS) return CUDA_ERROR_INVALID_VALUE;
  struct context *context = context_make(dev, flags, apiVersion);
  if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = op_ctxCreate(context->number, device_ordinal(dev), flags);
  arena_publish(&contexts, context);
  if (!result) result = context_push(context);
  if (result) {
    arena_give(&contexts, context);
  } else {
    *pctx = (CUcontext)(void *)context;
  }
  return result;
}

CUresult shim_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                             CUdevice dev) {
  if (ctxCreateParams &&
      (ctxCreateParams->execAffinityParams || ctxCreateParams->numExecAffinityParams ||
       ctxCreateParams->cigParams)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return context_create(pctx, flags, dev, 3020);
}

CUresult shim_cuCtxDestroy_v2(CUcontext ctx) {
  struct context *context = arena_find(&contexts, ctx);
  if (!context || context->primary || context->home != context) return CUDA_ERROR_INVALID_CONTEXT;
  context_before_end(context);
  CUresult result = op_ctxDestroy(context->number);
  struct thread *thread = ownThread;
  if (thread && thread->depth && thread->stack[thread->depth - 1].context == context) thread->depth--;
  context_end(context);
  return result;
}

// The stack

/** The handle that was made current; the primary context's where a green one has ended since. */
static CUcontext handle_of(const struct current *current) {
  bool green = current->green && green_is_live(current);
  return (CUcontext)(void *)(green ? current->green : current->context);
}

CUresult shim_cuCtxPopCurrent_v2(CUcontext *pctx) {
  struct thread *thread = ownThread;
  if (!thread || !thread->depth) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext top = handle_of(&thread->stack[--thread->depth]);
  if (pctx) *pctx = top;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxSetCurrent(CUcontext ctx) {
  struct thread *thread = thread_self();
  if (!thread) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!ctx) {
    if (thread->depth) thread->depth--;
    return CUDA_SUCCESS;
  }
  struct context *context = arena_find(&contexts, ctx);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (thread->depth) {
    thread->stack[thread->depth - 1] = context_as_current(context);
    return CUDA_SUCCESS;
  }
  return context_push(context);
}

CUresult shim_cuCtxGetCurrent(CUcontext *pctx) {
  if (!pctx) return CUDA_ERROR_INVALID_VALUE;
  struct thread *thread = ownThread;
  *pctx = thread && thread->depth ? handle_of(&thread->stack[thread->depth - 1]) : NULL;
  return CUDA_SUCCESS;
}

// Properties

CUresult shim_cuCtxSetLimit(CUlimit limit, size_t value) {
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  if (limit < 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  lock_take(&limits);
  result = context_result(context, op_ctxSetLimit(context->number, (uint32_t)limit, value));
  // The driver may have rounded the value.
  atomic_store_explicit(&context->limitsKnown, 0, memory_order_release);
  lock_release(&limits);
  return result;
}

CUresult shim_cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
  struct context *context;
  if (!pvalue) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  if (limit < 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  // cuBLAS asks before each matrix product, and PyTorch for one that drivers do not have.
  uint32_t bit = limit < CACHED_LIMITS ? 1u << limit : 0;
  if (atomic_load_explicit(&context->limitsAbsent, memory_order_acquire) & bit) return CUDA_ERROR_INVALID_VALUE;
  if (atomic_load_explicit(&context->limitsKnown, memory_order_acquire) & bit) {
    *pvalue = context->limits[limit];
    return CUDA_SUCCESS;
  }
  uint64_t value = 0;
  lock_take(&limits);
  result = context_result(context, op_ctxGetLimit(context->number, (uint32_t)limit, &value));
  if (!result) *pvalue = value;
  if (!result && bit) {
    context->limits[limit] = value;
    atomic_fetch_or_explicit(&context->limitsKnown, bit, memory_order_release);
  }
  if (result == CUDA_ERROR_INVALID_VALUE) {
    atomic_fetch_or_explicit(&context->limitsAbsent, bit, memory_order_release);
  }
  lock_release(&limits);
  return result;
}
