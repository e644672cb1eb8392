// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_pool.h"

#include "context/context.h"
#include "core/fork.h"
#include "memory/share_token.h"
#include "ops.h"
#include "shim.h"
#include "transport/connection.h"
#include "transport/device_table.h"

#include <stdatomic.h>
#include <string.h>

ARENA(pools, pool, 1 << 12, 0x504f4f31);

enum {
  ATTRIBUTE_RELEASE_THRESHOLD = 4,
  ATTRIBUTE_USED_HIGH = 8,
  FIRST_MADE = 1024,  // numbers below are those of default pools
};

static struct {
  struct lock lock;
  struct pool *_Atomic chosen[MAX_DEVICES];  // by cuDeviceSetMemPool; NULL: the default pool
} all;

static void pools_reset(void) { memset(&all, 0, sizeof all); }

ON_FORK(pools_reset);

/** A device's default pool, made at the first question. */
static struct pool *default_pool(CUdevice device) {
  lock_take(&all.lock);
  struct pool *pool = NULL;
  for (uint32_t i = 0; i < arena_used(&pools) && !pool; i++) {
    struct pool *at = arena_at(&pools, i);
    if (at && at->device == device && at->number < FIRST_MADE) pool = at;
  }
  if (!pool && (pool = arena_take(&pools))) {
    pool->device = device;
    pool->number = device_ordinal(device) + 1;
    arena_publish(&pools, pool);
  }
  lock_release(&all.lock);
  return pool;
}

struct pool *pool_of_device(CUdevice device) {
  return device_find(device) ? atomic_load_explicit(&all.chosen[device], memory_order_acquire) : NULL;
}

CUresult pool_number(CUmemoryPool handle, struct context **context, uint32_t *number) {
  struct pool *pool = arena_find(&pools, handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  uint32_t connection = device_connection(pool->device);
  if (!*context || !connection_same((*context)->number, connection_no_context(connection))) {
    *context = context_any_or_none(connection);
  }
  *number = pool->number;
  return CUDA_SUCCESS;
}

/** The context that a call about a pool travels with, and the pool's number. */
static CUresult begin(CUmemoryPool handle, struct context **context, uint32_t *number) {
  CUresult result = context_or_none(context);
  if (!result) result = pool_number(handle, context, number);
  return result;
}

static bool supported(CUdevice device) {
  return device_attribute(device, ATTRIBUTE_MEMORY_POOLS_SUPPORTED) > 0;
}

CUresult shim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pool_out) return CUDA_ERROR_INVALID_VALUE;
  if (!supported(dev)) return CUDA_ERROR_NOT_SUPPORTED;
  struct pool *pool = default_pool(dev);
  *pool_out = (CUmemoryPool)(void *)pool;
  return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
  struct pool *chosen = pool_of_device(dev);
  if (!chosen) return shim_cuDeviceGetDefaultMemPool(pool, dev);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  *pool = (CUmemoryPool)(void *)chosen;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  struct pool *given = arena_find(&pools, pool);
  if (!given || given->device != dev) return CUDA_ERROR_INVALID_VALUE;
  atomic_store_explicit(&all.chosen[dev], given, memory_order_release);
  return CUDA_SUCCESS;
}

// Pools by location: devices only, because pools of host memory are not supported (the attributes say so).

static CUresult device_of(struct location location, CUdevice *device) {
  if (location.type != LOCATION_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  *device = location.id;
  return device_find(*device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult pool_device(const CUmemLocation *location, CUmemAllocationType type, CUdevice *device) {
  if (!location || type != ALLOCATION_PINNED) return CUDA_ERROR_INVALID_VALUE;
  return device_of(location_of(location), device);
}

CUresult shim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps) {
  CUdevice device;
  if (!pool || !poolProps || poolProps->allocType != ALLOCATION_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = device_of(poolProps->location, &device);
  if (result) return result;
  int kinds = device_attribute(device, ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
  if (poolProps->handleTypes & ~(kinds > 0 ? kinds : 0) || !supported(device)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  struct context *context = context_any_or_none(device_connection(device));
  struct pool *made = arena_take(&pools);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  made->device = device;
  made->number = FIRST_MADE + made->slot.number;
  made->handleTypes = poolProps->handleTypes;
  arena_publish(&pools, made);
  result = context_result(
      context, op_poolCreate(context->number, made->number, device_ordinal(device),
                             poolProps->maxSize, (uint32_t)made->handleTypes));
  if (result) {
    arena_give(&pools, made);
    return result;
  }
  *pool = (CUmemoryPool)(void *)made;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                               CUmemAllocationHandleType handleType,
                                               unsigned long long flags) {
  struct context *context;
  struct token token;
  uint32_t number;
  struct pool *shared = arena_find(&pools, pool);
  if (!handle_out || flags || !shared || !(shared->handleTypes & handleType)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = begin(pool, &context, &number);
  if (!result) {
    result = context_result(context, op_poolShare(context->number, number, TOKEN_OUT(token)));
  }
  return result ? result : token_put_descriptor(&token, handle_out);
}

CUresult shim_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
  struct token token;
  struct context *context = context_any();
  if (!pool_out || flags) return CUDA_ERROR_INVALID_VALUE;
  if (handleType != HANDLE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  CUresult result = token_get_descriptor((int)(intptr_t)handle, &token);
  if (result) return result;
  struct pool *opened = arena_take(&pools);
  if (!opened) return CUDA_ERROR_OUT_OF_MEMORY;
  uint32_t ordinal = 0;
  opened->number = FIRST_MADE + opened->slot.number;
  result = context_result(
      context, op_poolOpen(context->number, TOKEN_IN(token), opened->number, &ordinal));
  if (!result && !device_of_ordinal((uint32_t)(context->number >> CONNECTION_SHIFT), ordinal, &opened->device)) {
    op_poolDestroy(context->number, opened->number);
    result = CUDA_ERROR_INVALID_DEVICE;
  }
  arena_publish(&pools, opened);
  if (result) {
    arena_give(&pools, opened);
    return result;
  }
  *pool_out = (CUmemoryPool)(void *)opened;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemPoolDestroy(CUmemoryPool pool) {
  struct pool *gone = arena_find(&pools, pool);
  if (!gone || gone->number < FIRST_MADE) return CUDA_ERROR_INVALID_VALUE;
  struct context *context = context_any_of(device_connection(gone->device));
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  struct pool *expected = gone;
  atomic_compare_exchange_strong_explicit(&all.chosen[gone->device], &expected, NULL, memory_order_acq_rel,
                                          memory_order_relaxed);
  // Sent before the slot, and with it the number, can be used again.
  CUresult result = op_poolDestroy(context->number, gone->number);
  return arena_give(&pools, gone) ? result : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
  struct context *context;
  struct pool *own = arena_find(&pools, pool);
  uint32_t number;
  if (count && !map) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin(pool, &context, &number);
  for (size_t i = 0; !result && i < count; i++) {
    CUdevice device;
    int flags = map[i].flags;
    result = device_of(map[i].location, &device);
    if (result) break;
    bool known = flags == ACCESS_NONE || flags == ACCESS_READ || flags == ACCESS_READ_WRITE;
    // A device always has its own pool's memory.
    bool possible = device != own->device || flags == ACCESS_READ_WRITE;
    if (!known || !possible) return CUDA_ERROR_INVALID_VALUE;
    if (device_connection(device) != device_connection(own->device)) {
      // No device reaches another server's memory.
      if (flags != ACCESS_NONE) return CUDA_ERROR_INVALID_DEVICE;
      continue;
    }
    uint64_t bit = UINT64_C(1) << device;
    own->readers = flags & ACCESS_READ ? own->readers | bit : own->readers & ~bit;
    own->writers = flags == ACCESS_READ_WRITE ? own->writers | bit : own->writers & ~bit;
    result = op_poolSetAccess(context->number, number, device_ordinal(device), (uint32_t)flags);
  }
  return result;
}

CUresult shim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                 CUmemLocation *location) {
  struct pool *pool = arena_find(&pools, memPool);
  CUdevice device;
  if (!pool || !flags || !location) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = device_of(location_of(location), &device);
  if (result) return result;
  uint64_t bit = UINT64_C(1) << device;
  bool own = device == pool->device;
  *flags = own || pool->writers & bit ? ACCESS_READ_WRITE
                                      : pool->readers & bit ? ACCESS_READ : ACCESS_NONE;
  return CUDA_SUCCESS;
}

/** Attributes up to the third are ints, the others 64 bits wide. */
static bool is_wide(CUmemPool_attribute attribute) {
  return attribute >= ATTRIBUTE_RELEASE_THRESHOLD;
}

static bool is_attribute(CUmemPool_attribute attribute) {
  return attribute >= 1 && attribute <= ATTRIBUTE_USED_HIGH;
}

CUresult shim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
  struct context *context;
  uint32_t number;
  if (!value || !is_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin(pool, &context, &number);
  if (result) return result;
  uint64_t wide = is_wide(attr) ? *(uint64_t *)value : (uint64_t)(int64_t) * (int *)value;
  return op_poolSetAttribute(context->number, number, (uint32_t)attr, wide);
}

CUresult shim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
  struct context *context;
  uint32_t number;
  if (!value || !is_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin(pool, &context, &number);
  if (result) return result;
  uint64_t wide = 0;
  result = context_result(
      context, op_poolGetAttribute(context->number, number, (uint32_t)attr, &wide));
  if (result) return result;
  if (is_wide(attr)) {
    *(uint64_t *)value = wide;
  } else {
    *(int *)value = (int)wide;
  }
  return CUDA_SUCCESS;
}
