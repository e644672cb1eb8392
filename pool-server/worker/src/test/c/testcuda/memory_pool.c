// SPDX-License-Identifier: Apache-2.0
// Memory pools: those that programs create; the default pools of devices are numbers.
#include "driver.h"

#include <stdlib.h>

struct pool {
  int device;
  unsigned access;
  size_t most, used, reserved, threshold;
};

enum { FIRST_MADE = 0x1000, RELEASE_THRESHOLD = 4, RESERVED_NOW = 5 };

static int is_made(struct pool *pool) { return (uintptr_t)pool >= FIRST_MADE; }

/* Keeps unused memory up to the threshold. */
void pool_freed(struct pool *pool, size_t size) {
  pool->used -= size;
  size_t kept = pool->used > pool->threshold ? pool->used : pool->threshold;
  if (pool->reserved > kept) pool->reserved = kept;
}

Result cuMemPoolTrimTo(struct pool *pool, size_t keep) {
  pthread_mutex_lock(&lock);
  size_t kept = is_made(pool) && pool->used > keep ? pool->used : keep;
  if (is_made(pool) && pool->reserved > kept) pool->reserved = kept;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

/* Default pools do not tell what they reserve. */
Result cuMemPoolGetAttribute(struct pool *pool, int attribute, void *value) {
  uint64_t answer = (uint64_t)attribute * 100 + (uintptr_t)pool;
  pthread_mutex_lock(&lock);
  if (attribute == RESERVED_NOW) answer = is_made(pool) ? pool->reserved : 0;
  pthread_mutex_unlock(&lock);
  *(uint64_t *)value = answer;
  return SUCCESS;
}

Result cuMemPoolSetAttribute(struct pool *pool, int attribute, void *value) {
  if (is_made(pool) && attribute == RELEASE_THRESHOLD) pool->threshold = *(uint64_t *)value;
  return SUCCESS;
}

/* CUmemPoolProps: i32 type, i32 handle types, i32 location type, i32 device, pointer, u64 most bytes */
Result cuMemPoolCreate(struct pool **out, int *props) {
  count_call();
  if (props[0] != 1 || props[2] != 1) return INVALID_VALUE;
  *out = calloc(1, sizeof **out);
  **out = (struct pool){.device = props[3], .most = *(size_t *)(props + 6)};
  return check_device(props[3]);
}

Result cuMemPoolDestroy(struct pool *pool) { free(pool); return SUCCESS; }

Result cuMemPoolSetAccess(struct pool *pool, int *description, size_t count) {
  pool->access |= 1u << description[1];
  return count == 1 && description[0] == 1 ? SUCCESS : INVALID_VALUE;
}

Result cuMemAllocFromPoolAsync(Address *out, size_t size, struct pool *pool, struct stream *stream) {
  (void)stream;
  if (!is_made(pool)) return cuMemAlloc_v2(out, size);
  if (pool->most && size > pool->most - pool->used) return OUT_OF_MEMORY;
  Result result = cuMemAlloc_v2(out, size);
  if (result) return result;
  pthread_mutex_lock(&lock);
  allocations->pool = pool; /* the list begins with the latest */
  pool->used += size;
  if (pool->reserved < pool->used) pool->reserved = pool->used;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuDeviceGetDefaultMemPool(void **pool, int device) {
  *pool = (void *)(uintptr_t)(0x100 + device);
  return check_device(device);
}
