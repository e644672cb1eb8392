// SPDX-License-Identifier: Apache-2.0
// Device memory and page-locked memory.
#include "driver.h"

#include <stdlib.h>

static size_t used[MAX_DEVICES];
struct allocation *allocations;

size_t memory_size(void) { return (size_t)setting("TESTCUDA_MEMORY_MIB", 1024) << 20; }

int is_allocated(Address address, size_t size) {
  pthread_mutex_lock(&lock);
  struct allocation *a = allocations;
  while (a && !(address >= a->address && size <= a->size && address - a->address <= a->size - size))
    a = a->next;
  pthread_mutex_unlock(&lock);
  return a != NULL;
}

Result cuMemAlloc_v2(Address *out, size_t size) {
  Result result = usable();
  if (result) return result;
  if (!size) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  int device = current->device;
  if (size > memory_size() - used[device]) {
    pthread_mutex_unlock(&lock);
    return OUT_OF_MEMORY;
  }
  struct allocation *a = malloc(sizeof *a);
  *a = (struct allocation){(Address)(uintptr_t)calloc(1, size), size, device, allocations, NULL};
  allocations = a;
  used[device] += size;
  pthread_mutex_unlock(&lock);
  *out = a->address;
  return SUCCESS;
}

Result cuMemAllocPitch_v2(Address *out, size_t *pitch, size_t width, size_t height, unsigned element) {
  (void)element;
  *pitch = (width + 511) & ~(size_t)511;
  return cuMemAlloc_v2(out, *pitch * height);
}

/* The caller holds the lock. */
static Result drop_allocation(Address address) {
  for (struct allocation **a = &allocations; *a; a = &(*a)->next)
    if ((*a)->address == address) {
      struct allocation *gone = *a;
      *a = gone->next;
      used[gone->device] -= gone->size;
      if (gone->pool) pool_freed(gone->pool, gone->size);
      free((void *)(uintptr_t)address);
      free(gone);
      return SUCCESS;
    }
  return INVALID_VALUE;
}

/* Waits for all streams, as the driver does. */
Result cuMemFree_v2(Address address) {
  count_call();
  if (!address) return SUCCESS;
  Result result = cuCtxSynchronize();
  if (result) return result;
  pthread_mutex_lock(&lock);
  result = drop_allocation(address);
  pthread_mutex_unlock(&lock);
  return result;
}

Result cuMemAllocAsync(Address *out, size_t size, struct stream *stream) {
  (void)stream;
  return cuMemAlloc_v2(out, size);
}

static void free_in_turn(struct op *op) {
  pthread_mutex_lock(&lock);
  drop_allocation(op->a);
  pthread_mutex_unlock(&lock);
}

Result cuMemFreeAsync(Address address, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(address, 1)) return INVALID_VALUE;
  struct op *op = new_op(free_in_turn);
  op->a = address;
  op->even_after_fault = 1;
  return submit(stream, op);
}

Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  Result result = usable();
  if (result) return result;
  *total = memory_size();
  *free_bytes = *total - used[current->device];
  return SUCCESS;
}

/* Page-locked memory: streams may wait for words in it. */
static struct { char *begin; size_t size; } pinned[4096];
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

int is_pinned(Address address, size_t size) {
  int found = 0;
  pthread_mutex_lock(&pinned_lock);
  for (int i = 0; i < 4096 && !found; i++) {
    Address begin = (Address)(uintptr_t)pinned[i].begin;
    found = begin && address >= begin && address + size <= begin + pinned[i].size;
  }
  pthread_mutex_unlock(&pinned_lock);
  return found;
}

/* Replaces one range by another; NULL stands for none. */
static void note_pinned(char *before, char *begin, size_t size) {
  pthread_mutex_lock(&pinned_lock);
  for (int i = 0; i < 4096; i++) {
    if (pinned[i].begin != before) continue;
    pinned[i].begin = begin;
    pinned[i].size = size;
    break;
  }
  pthread_mutex_unlock(&pinned_lock);
}

Result cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  *out = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
  if (*out) note_pinned(NULL, *out, size);
  return *out ? usable() : OUT_OF_MEMORY;
}

Result cuMemFreeHost(void *memory) {
  note_pinned(memory, NULL, 0);
  free(memory);
  return SUCCESS;
}

Result cuMemHostRegister_v2(void *memory, size_t size, unsigned flags) {
  (void)flags;
  note_pinned(NULL, memory, size);
  return usable();
}

Result cuMemHostUnregister(void *memory) {
  note_pinned(memory, NULL, 0);
  return usable();
}
