// SPDX-License-Identifier: Apache-2.0
#include "context/context.h"

#include "memory/array.h"
#include "graph/capture.h"
#include "context/device.h"
#include "stream/event.h"
#include "module/library.h"
#include "transport/connection.h"
#include "memory/managed_memory.h"
#include "memory/memory.h"
#include "memory/mirror.h"
#include "memory/mirror_wait.h"
#include "module/module.h"
#include "ops.h"
#include "shim.h"
#include "stream/stream.h"
#include "texture/texture_object.h"

#include <stdlib.h>
#include <string.h>

static struct {
  struct lock lock;    // held while a primary context is made or ended
  struct lock limits;  // held while a limit is asked for or set
  uint64_t lastId;
  struct context *primary[MAX_DEVICES];
  uint32_t retained[MAX_DEVICES];
  unsigned int flags[MAX_DEVICES];
} all;

enum { CTX_FLAGS_MASK = 0xff };

static struct context *context_make(CUdevice device, unsigned int flags, unsigned int apiVersion) {
  struct context *context = arena_take(&contexts);
  if (!context) return NULL;
  context->number = (uint16_t)(connection_no_context(device_connection(device)) | context->slot.number);
  context->device = device;
  context->flags = flags;
  context->apiVersion = apiVersion;
  context->id = __atomic_add_fetch(&all.lastId, 1, __ATOMIC_RELAXED);
  context->home = context;
  return context;
}

struct context *context_make_green(struct context *home) {
  struct context *green = context_make(home->device, home->flags, home->apiVersion);
  if (!green) return NULL;
  green->home = home;
  // Neither's default stream waits for streams of the other.
  green->nonBlocking = 1;
  __atomic_add_fetch(&home->nonBlocking, 1, __ATOMIC_RELAXED);
  return green;
}

void context_end_green(struct context *green) {
  struct thread *thread = ownThread;
  struct current *top = thread && thread->depth ? &thread->stack[thread->depth - 1] : NULL;
  if (top && top->green == green) thread->depth--;
  streams_forget(green);
  mirrors_forget(green);
  __atomic_sub_fetch(&green->home->nonBlocking, 1, __ATOMIC_RELAXED);
  arena_give(&contexts, green);
}

/** Clears what the runtime library stored with a context and its green ones. */
static void stored_clear(const struct context *home) {
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    struct context *context = arena_at(&contexts, i);
    if (context && context->home == home) storage_clear(context);
  }
}

/** The green contexts of a primary context go with it. */
static void greens_end(const struct context *home) {
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    struct context *green = arena_at(&contexts, i);
    if (green && green->home == home && green != home) context_end_green(green);
  }
}

/**
 * Everything of a context goes; the worker forgets it by itself. What the runtime library stored with
 * it has been cleared: that calls back, and must not meet a lock.
 */
static void context_end(struct context *context) {
  greens_end(context);
  streams_forget(context);
  events_forget(context);
  libraries_forget(context);
  modules_forget(context);
  mirrors_forget(context);
  managed_forget(context);
  memory_forget(context);
  arrays_forget(context);
  textures_forget(context);
  if (!context->primary) {
    arena_give(&contexts, context);
    return;
  }
  context->limitsKnown = 0;
  // A primary context's handle is good again, wherever it is current, when it is retained again.
  __atomic_store_n(&context->slot.live, 0, __ATOMIC_RELEASE);
  context->sticky = CUDA_SUCCESS;
  context->nonBlocking = 0;
}

CUresult context_note(struct context *context, CUresult result) {
  bool fatal = result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
               result == CUDA_ERROR_ASSERT ||
               (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
  if (fatal && context) context->sticky = context->home->sticky = result;
  return result;
}

CUresult context_or_none(struct context **context) {
  CUresult result = context_current(context);
  return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

struct context *context_primary(CUdevice device) {
  return device_find(device) && all.retained[device] ? all.primary[device] : NULL;
}

/** The current context, else any that lives, of a connection or of all. */
static struct context *any(uint32_t connection, bool all) {
  struct context *context;
  uint16_t none = connection_no_context(connection);
  if (context_current(&context) == CUDA_SUCCESS && (all || connection_same(context->number, none))) {
    return context;
  }
  for (uint32_t i = 0; i < arena_used(&contexts); i++) {
    context = arena_at(&contexts, i);
    bool lasting = context && context->home == context && !context->sticky;
    if (lasting && (all || connection_same(context->number, none))) return context;
  }
  return NULL;
}

struct context *context_any(void) { return any(0, true); }

/** Stand for no context of a connection, for calls that need none. */
static struct context nowhere[MAX_CONNECTIONS];

struct context *context_any_or_none(uint32_t connection) {
  struct context *context = any(connection, false);
  if (!context) {
    context = &nowhere[connection];
    context->number = connection_no_context(connection);
  }
  return context;
}

struct context *context_any_of(uint32_t connection) { return any(connection, false); }

void contexts_reset(void) {
  memset(&all, 0, sizeof all);
  storage_reset();
}

// The stack

/** A context as it is made current: of a green one, its home, too. */
static struct current current_of(struct context *context) {
  struct context *home = context->home;
  if (home == context) return (struct current){.context = context, .id = context->id};
  return (struct current){.context = home, .id = home->id, .green = context, .greenId = context->id};
}

static CUresult push(struct context *context) {
  struct thread *thread = thread_self();
  if (!thread) return CUDA_ERROR_OUT_OF_MEMORY;
  if (thread->depth == thread->capacity) {
    uint32_t capacity = thread->capacity ? 2 * thread->capacity : 8;
    struct current *stack = realloc(thread->stack, capacity * sizeof *stack);
    if (!stack) return CUDA_ERROR_OUT_OF_MEMORY;
    thread->stack = stack;
    thread->capacity = capacity;
  }
  thread->stack[thread->depth++] = current_of(context);
  return CUDA_SUCCESS;
}

/** The handle that was made current; the primary context's where a green one has ended since. */
static CUcontext handle_of(const struct current *current) {
  bool green = current->green && green_is_live(current);
  return (CUcontext)(void *)(green ? current->green : current->context);
}

CUresult shim_cuCtxPushCurrent_v2(CUcontext ctx) {
  struct context *context = arena_find(&contexts, ctx);
  return context ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult shim_cuCtxPushCurrent(CUcontext ctx) { return shim_cuCtxPushCurrent_v2(ctx); }

CUresult shim_cuCtxPopCurrent_v2(CUcontext *pctx) {
  struct thread *thread = ownThread;
  if (!thread || !thread->depth) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext top = handle_of(&thread->stack[--thread->depth]);
  if (pctx) *pctx = top;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxPopCurrent(CUcontext *pctx) { return shim_cuCtxPopCurrent_v2(pctx); }

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
    thread->stack[thread->depth - 1] = current_of(context);
    return CUDA_SUCCESS;
  }
  return push(context);
}

CUresult shim_cuCtxGetCurrent(CUcontext *pctx) {
  if (!pctx) return CUDA_ERROR_INVALID_VALUE;
  struct thread *thread = ownThread;
  *pctx = thread && thread->depth ? handle_of(&thread->stack[thread->depth - 1]) : NULL;
  return CUDA_SUCCESS;
}

// Primary contexts

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
  if (__atomic_load_n(&all.retained[dev], __ATOMIC_ACQUIRE) == 1) stored_clear(context);
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

CUresult shim_cuDevicePrimaryCtxRelease(CUdevice dev) { return shim_cuDevicePrimaryCtxRelease_v2(dev); }

CUresult shim_cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (__atomic_load_n(&all.retained[dev], __ATOMIC_ACQUIRE)) stored_clear(all.primary[dev]);
  lock_take(&all.lock);
  CUresult result = CUDA_SUCCESS;
  if (all.retained[dev]) {
    all.retained[dev] = 0;
    context_end(all.primary[dev]);
    // A reset leaves the context retained; here it begins anew with the next retain.
    result = op_ctxResetPrimary(all.primary[dev]->number, device_ordinal(dev));
    op_ctxReleasePrimary(all.primary[dev]->number, device_ordinal(dev));
  }
  lock_release(&all.lock);
  // What went wrong in the context went with it, unless the driver says that it did not.
  return result;
}

CUresult shim_cuDevicePrimaryCtxReset(CUdevice dev) { return shim_cuDevicePrimaryCtxReset_v2(dev); }

CUresult shim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (flags & ~(unsigned int)CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  all.flags[dev] = flags;
  if (all.primary[dev]) all.primary[dev]->flags = flags;
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

CUresult shim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return shim_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult shim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  *flags = all.flags[dev];
  *active = all.retained[dev] > 0;
  return CUDA_SUCCESS;
}

// Created contexts

static CUresult create(CUcontext *pctx, unsigned int flags, CUdevice dev, unsigned int apiVersion) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pctx || flags & ~(unsigned int)CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
  struct context *context = context_make(dev, flags, apiVersion);
  if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = op_ctxCreate(context->number, device_ordinal(dev), flags);
  arena_publish(&contexts, context);
  if (!result) result = push(context);
  if (result) {
    arena_give(&contexts, context);
  } else {
    *pctx = (CUcontext)(void *)context;
  }
  return result;
}

CUresult shim_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, 3020);
}

CUresult shim_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, 3010);
}

CUresult shim_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                             unsigned int flags, CUdevice dev) {
  if (paramsArray || numParams) return CUDA_ERROR_NOT_SUPPORTED;
  return create(pctx, flags, dev, 3020);
}

CUresult shim_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                             CUdevice dev) {
  if (ctxCreateParams &&
      (ctxCreateParams->execAffinityParams || ctxCreateParams->numExecAffinityParams ||
       ctxCreateParams->cigParams)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return create(pctx, flags, dev, 3020);
}

CUresult shim_cuCtxDestroy_v2(CUcontext ctx) {
  struct context *context = arena_find(&contexts, ctx);
  if (!context || context->primary || context->home != context) return CUDA_ERROR_INVALID_CONTEXT;
  storage_clear(context);
  CUresult result = op_ctxDestroy(context->number);
  struct thread *thread = ownThread;
  if (thread && thread->depth && thread->stack[thread->depth - 1].context == context) thread->depth--;
  context_end(context);
  return result;
}

CUresult shim_cuCtxDestroy(CUcontext ctx) { return shim_cuCtxDestroy_v2(ctx); }

CUresult shim_cuCtxAttach(CUcontext *pctx, unsigned int flags) {
  struct context *context;
  if (!pctx || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) *pctx = (CUcontext)(void *)context_or_green(context);
  return result;
}

CUresult shim_cuCtxDetach(CUcontext ctx) {
  return arena_find(&contexts, ctx) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// Properties

/** The given context, or the current one for NULL. */
static CUresult given_or_current(CUcontext ctx, struct context **context) {
  if (!ctx) return context_current(context);
  *context = arena_find(&contexts, ctx);
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult shim_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx) {
  struct context *context;
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = given_or_current(ctx, &context);
  if (!context) return result;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxGetDevice(CUdevice *device) { return shim_cuCtxGetDevice_v2(device, NULL); }

CUresult shim_cuCtxGetFlags(unsigned int *flags) {
  struct context *context;
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) *flags = context->flags;
  return result;
}

CUresult shim_cuCtxSetFlags(unsigned int flags) {
  struct context *context;
  if (flags & ~(unsigned int)CTX_FLAGS_MASK) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) context->flags = flags;
  return result;
}

CUresult shim_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId) {
  struct context *context;
  if (!ctxId) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = given_or_current(ctx, &context);
  if (!context) return result;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxSynchronize_v2(CUcontext ctx) {
  struct context *context;
  CUresult result = given_or_current(ctx, &context);
  if (!result) result = context->sticky;
  if (!result && captures_active()) result = capture_refuse_context(context);
  if (result) return result;
  uint64_t mark = mirror_mark();
  bool waits = mirror_wait_begin();
  result = context_result(context, op_ctxSynchronize(context->number));
  mirror_wait_end(waits);
  return result ? result : mirror_after(context, 0, mark);
}

CUresult shim_cuCtxSynchronize(void) { return shim_cuCtxSynchronize_v2(NULL); }

CUresult shim_cuCtxSetLimit(CUlimit limit, size_t value) {
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  if (limit < 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  lock_take(&all.limits);
  result = context_result(context, op_ctxSetLimit(context->number, (uint32_t)limit, value));
  // What it is now may have been rounded.
  __atomic_store_n(&context->limitsKnown, 0, __ATOMIC_RELEASE);
  lock_release(&all.limits);
  return result;
}

CUresult shim_cuCtxGetLimit(size_t *pvalue, CUlimit limit) {
  struct context *context;
  if (!pvalue) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  if (limit < 0) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  // cuBLAS asks before each matrix product.
  uint32_t bit = limit < CACHED_LIMITS ? 1u << limit : 0;
  if (__atomic_load_n(&context->limitsKnown, __ATOMIC_ACQUIRE) & bit) {
    *pvalue = context->limits[limit];
    return CUDA_SUCCESS;
  }
  uint64_t value = 0;
  lock_take(&all.limits);
  result = context_result(context, op_ctxGetLimit(context->number, (uint32_t)limit, &value));
  if (!result) *pvalue = value;
  if (!result && bit) {
    context->limits[limit] = value;
    __atomic_fetch_or(&context->limitsKnown, bit, __ATOMIC_RELEASE);
  }
  lock_release(&all.limits);
  return result;
}

CUresult shim_cuCtxGetCacheConfig(CUfunc_cache *pconfig) {
  struct context *context;
  if (!pconfig) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) *pconfig = context->cacheConfig;
  return result;
}

CUresult shim_cuCtxSetCacheConfig(CUfunc_cache config) {
  struct context *context;
  if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) context->cacheConfig = config;
  return result;
}

CUresult shim_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig) {
  struct context *context;
  if (!pConfig) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) *pConfig = context->sharedConfig ? context->sharedConfig : 1;  // 4-byte banks
  return result;
}

CUresult shim_cuCtxSetSharedMemConfig(CUsharedconfig config) {
  struct context *context;
  if (config < 0 || config > 2) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) context->sharedConfig = config;
  return result;
}

CUresult shim_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
  struct context *context;
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = given_or_current(ctx, &context);
  if (!context) return result;
  *version = context->apiVersion;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  bool priorities = device_attribute(context->device, ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) > 0;
  if (leastPriority) *leastPriority = 0;
  if (greatestPriority) *greatestPriority = priorities ? STREAM_GREATEST_PRIORITY : 0;
  return CUDA_SUCCESS;
}

CUresult shim_cuCtxResetPersistingL2Cache(void) {
  struct context *context;
  return context_current(&context);
}

CUresult shim_cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type) {
  struct context *context;
  if (!pExecAffinity || type != 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (result) return result;
  pExecAffinity->type = type;
  pExecAffinity->smCount =
      (unsigned int)device_attribute(context->device, ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return CUDA_SUCCESS;
}
