// SPDX-License-Identifier: Apache-2.0
// Pools: what is freed in a stream's order stays the pool's up to its release threshold.
#include "memory.h"

#include <stdlib.h>

enum { RELEASE_THRESHOLD = 4, RESERVED_NOW = 5, RESERVED_HIGH = 6, USED_NOW = 7, USED_HIGH = 8, LAST_ATTRIBUTE = 8 };

/** Memory that a pool holds for later allocations. */
struct kept {
  struct kept *next;
  CUdeviceptr address;
  uint64_t bytes;
};

struct pool {
  uint32_t device;
  uint64_t threshold, most, used, usedHigh, reserved, reservedHigh;
  uint64_t others[LAST_ATTRIBUTE + 1];
  struct kept *kept;
};

static struct pool *usual[MAX_CARDS];

static struct pool *new_pool(uint32_t device) {
  struct pool *pool = calloc(1, sizeof *pool);
  pool->device = device;
  for (int i = 1; i <= 3; i++) pool->others[i] = 1;
  return pool;
}

static struct pool *usual_pool(uint32_t device) {
  if (!usual[device]) usual[device] = new_pool(device);
  return usual[device];
}

/** Gives back what is kept beyond so many bytes, with what is used. */
static void trim(struct pool *pool, uint64_t keep) {
  while (pool->kept && pool->reserved > keep && pool->reserved > pool->used) {
    struct kept *kept = pool->kept;
    pool->kept = kept->next;
    pool->reserved -= kept->bytes;
    memory_free(kept->address);
    free(kept);
  }
}

API CUresult cuDeviceGetDefaultMemPool(struct pool **out, int device) {
  CUresult result = api_begin_device(device);
  if (!result) *out = usual_pool((uint32_t)device);
  return api_end(result);
}

/** CUmemPoolProps: i32 type, i32 handle types, i32 location type, i32 device, pointer, u64 most bytes */
API CUresult cuMemPoolCreate(struct pool **out, const int *properties) {
  CUresult result = api_begin_device(properties[3]);
  if (!result && (properties[0] != 1 || properties[2] != 1)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    *out = new_pool((uint32_t)properties[3]);
    (*out)->most = *(const uint64_t *)(const void *)(properties + 6);
  }
  return api_end(result);
}

API CUresult cuMemPoolDestroy(struct pool *pool) {
  pthread_mutex_lock(&modelLock);
  trim(pool, 0);
  pool->threshold = 0;
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemPoolTrimTo(struct pool *pool, size_t keep) {
  pthread_mutex_lock(&modelLock);
  trim(pool, keep);
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemPoolGetAttribute(struct pool *pool, int attribute, void *value) {
  if (attribute < 1 || attribute > LAST_ATTRIBUTE) return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&modelLock);
  uint64_t answer = attribute == RELEASE_THRESHOLD ? pool->threshold
                    : attribute == RESERVED_NOW    ? pool->reserved
                    : attribute == RESERVED_HIGH   ? pool->reservedHigh
                    : attribute == USED_NOW        ? pool->used
                    : attribute == USED_HIGH       ? pool->usedHigh
                                                   : pool->others[attribute];
  if (attribute < RELEASE_THRESHOLD) *(int *)value = (int)answer; else *(uint64_t *)value = answer;
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemPoolSetAttribute(struct pool *pool, int attribute, const void *value) {
  if (attribute < 1 || attribute > LAST_ATTRIBUTE) return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&modelLock);
  if (attribute == RELEASE_THRESHOLD) pool->threshold = *(const uint64_t *)value;
  if (attribute < RELEASE_THRESHOLD) pool->others[attribute] = (uint64_t) * (const int *)value;
  if (attribute == RESERVED_HIGH) pool->reservedHigh = pool->reserved;
  if (attribute == USED_HIGH) pool->usedHigh = pool->used;
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemPoolSetAccess(struct pool *pool, const int *description, size_t count) {
  (void)pool;
  return count && description[0] == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult allocate(CUdeviceptr *out, uint64_t bytes, struct pool *pool) {
  if (pool->most && bytes > pool->most - pool->used) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = CUDA_SUCCESS;
  struct kept **at = &pool->kept;
  while (*at && (*at)->bytes < bytes) at = &(*at)->next;
  struct kept *kept = *at;
  if (kept) {
    *out = kept->address;
    *at = kept->next;
    free(kept);
  } else {
    result = memory_allocate(pool->device, bytes, out);
    if (result && pool->kept) {
      trim(pool, 0);
      result = memory_allocate(pool->device, bytes, out);
    }
    if (!result) pool->reserved += bytes;
  }
  if (result) return result;
  struct allocation *allocation = memory_find(*out);
  allocation->pool = pool;
  pool->used += allocation->bytes;
  if (pool->usedHigh < pool->used) pool->usedHigh = pool->used;
  if (pool->reservedHigh < pool->reserved) pool->reservedHigh = pool->reserved;
  return CUDA_SUCCESS;
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, struct pool *pool, struct stream *stream) {
  (void)stream;
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !bytes) result = CUDA_ERROR_INVALID_VALUE;
  return api_end(result ? result : allocate(out, bytes, pool));
}

API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, struct stream *stream) {
  (void)stream;
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !bytes) result = CUDA_ERROR_INVALID_VALUE;
  return api_end(result ? result : allocate(out, bytes, usual_pool(context->device)));
}

void pool_forget(struct allocation *allocation) {
  struct pool *pool = allocation->pool;
  pool->used -= allocation->bytes;
  pool->reserved -= allocation->bytes;
  allocation->pool = NULL;
}

static bool free_in_turn(struct work *work) {
  struct allocation *allocation = memory_find(work->a);
  if (!allocation || allocation->address != work->a) return true;
  struct pool *pool = allocation->pool;
  if (!pool) {
    memory_free(work->a);
    return true;
  }
  struct kept *kept = malloc(sizeof *kept);
  *kept = (struct kept){.next = pool->kept, .address = allocation->address, .bytes = allocation->bytes};
  pool->kept = kept;
  pool->used -= allocation->bytes;
  allocation->pool = NULL;
  // A card gives back at the next synchronization; here it is at once.
  trim(pool, pool->threshold);
  return true;
}

API CUresult cuMemFreeAsync(CUdeviceptr address, struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !memory_find(address)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    struct stream *stream = stream_of(context, handle);
    struct work *work = stream_work(stream, WORK_MARK, 0);
    work->action = free_in_turn;
    work->a = address;
    stream_submit(stream, work);
  }
  return api_end(result);
}
