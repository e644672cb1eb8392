// SPDX-License-Identifier: Apache-2.0
#include "context/primary_context.h"

#include "core/fork.h"
#include "ops.h"
#include "shim.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <string.h>

static struct {
  struct lock lock;  // held while a primary context is made or ended
  struct context *primary[MAX_DEVICES];
  _Atomic uint32_t retained[MAX_DEVICES];
  unsigned int flags[MAX_DEVICES];
} all;

static void primary_contexts_reset(void) { memset(&all, 0, sizeof all); }
ON_FORK(primary_contexts_reset);

struct context *context_primary(CUdevice device) {
  return device_find(device) && all.retained[device] ? all.primary[device] : NULL;
}

/** Calls the hooks of a context that ends and of its green contexts. */
static void before_end(const struct context *home) {
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    struct context *context = arena_at(&contexts, i);
    if (context && context->home == home) context_before_end(context);
  }
}

/** Makes a device's primary context; all is locked. */
static CUresult activate(CUdevice device) {
  struct context *context = all.primary[device];
  if (!context) {
    context = context_make(device, all.flags[device], 3020);
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    context->primary = true;
    all.primary[device] = context;
  }
  context->flags = all.flags[device];
  CUresult result = op_ctxRetainPrimary(context->number, device_ordinal(device), context->flags);
  if (!result) arena_publish(&contexts, context);
  return result;
}

CUresult shim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pctx) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  CUresult result = all.retained[dev] ? CUDA_SUCCESS : activate(dev);
  if (!result) {
    all.retained[dev]++;
    *pctx = (CUcontext)(void *)all.primary[dev];
  }
  lock_release(&all.lock);
  return result;
}

CUresult shim_cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  CUresult result = CUDA_SUCCESS;
  struct context *context = all.primary[dev];
  if (atomic_load_explicit(&all.retained[dev], memory_order_acquire) == 1) before_end(context);
  lock_take(&all.lock);
  if (!all.retained[dev]) {
    result = CUDA_ERROR_INVALID_CONTEXT;
  } else if (--all.retained[dev] == 0) {
    context_end(context);
    result = op_ctxReleasePrimary(context->number, device_ordinal(dev));
  }
  lock_release(&all.lock);
  return result;
}

CUresult shim_cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (atomic_load_explicit(&all.retained[dev], memory_order_acquire)) before_end(all.primary[dev]);
  lock_take(&all.lock);
  CUresult result = CUDA_SUCCESS;
  if (all.retained[dev]) {
    all.retained[dev] = 0;
    context_end(all.primary[dev]);
    // A reset leaves the context retained; here the next retain makes it again.
    result = op_ctxResetPrimary(all.primary[dev]->number, device_ordinal(dev));
    op_ctxReleasePrimary(all.primary[dev]->number, device_ordinal(dev));
  }
  lock_release(&all.lock);
  // Errors of the context went with it, unless the driver says that they did not.
  return result;
}

CUresult shim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (flags & ~(unsigned int)CONTEXT_FLAGS) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  all.flags[dev] = flags;
  if (all.primary[dev]) all.primary[dev]->flags = flags;
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

CUresult shim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  *flags = all.flags[dev];
  *active = all.retained[dev] > 0;
  return CUDA_SUCCESS;
}
