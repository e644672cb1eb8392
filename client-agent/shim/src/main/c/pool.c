// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include "context.h"
#include "device.h"
#include "ops.h"
#include "shim.h"

enum { ATTRIBUTE_RELEASE_THRESHOLD = 4, ATTRIBUTE_USED_HIGH = 8 };

static struct lock lock;

void pools_reset(void) { lock.word = 0; }

/** A device's default pool, made at the first question. */
static struct pool *default_pool(CUdevice device) {
  lock_take(&lock);
  struct pool *pool = NULL;
  for (uint32_t i = 0; i < arena_used(&pools) && !pool; i++) {
    struct pool *at = arena_at(&pools, i);
    if (at && at->device == device) pool = at;
  }
  if (!pool && (pool = arena_take(&pools))) {
    pool->device = device;
    pool->number = device_ordinal(device) + 1;
    arena_publish(&pools, pool);
  }
  lock_release(&lock);
  return pool;
}

CUresult pool_number(CUmemoryPool handle, struct context **context, uint32_t *number) {
  struct pool *pool = arena_find(&pools, handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (!*context) *context = context_any();
  *number = pool->number;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pool_out) return CUDA_ERROR_INVALID_VALUE;
  if (device_attribute(dev, ATTRIBUTE_MEMORY_POOLS_SUPPORTED) <= 0) return CUDA_ERROR_NOT_SUPPORTED;
  struct pool *pool = default_pool(dev);
  *pool_out = (CUmemoryPool)(void *)pool;
  return pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
  return shim_cuDeviceGetDefaultMemPool(pool, dev);
}

CUresult shim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  if (!device_find(dev)) return CUDA_ERROR_INVALID_DEVICE;
  struct pool *given = arena_find(&pools, pool);
  return given && given->device == dev ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** Attributes up to the third are ints, the others 64 bits wide. */
static bool is_wide(CUmemPool_attribute attribute) {
  return attribute >= ATTRIBUTE_RELEASE_THRESHOLD;
}

static CUresult begin(CUmemoryPool handle, CUmemPool_attribute attribute, const void *value,
                      struct context **context, uint32_t *number) {
  if (!value || attribute < 1 || attribute > ATTRIBUTE_USED_HIGH) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_or_none(context);
  if (!result) result = pool_number(handle, context, number);
  if (!result && !*context) result = CUDA_ERROR_INVALID_CONTEXT;
  return result;
}

CUresult shim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
  struct context *context;
  uint32_t number;
  CUresult result = begin(pool, attr, value, &context, &number);
  if (result) return result;
  uint64_t wide = is_wide(attr) ? *(uint64_t *)value : (uint64_t)(int64_t) * (int *)value;
  return op_poolSetAttribute(context->number, number, (uint32_t)attr, wide);
}

CUresult shim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
  struct context *context;
  uint32_t number;
  CUresult result = begin(pool, attr, value, &context, &number);
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
