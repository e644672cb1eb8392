// SPDX-License-Identifier: Apache-2.0
#include "core/handles.h"

#include "core/fork.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { REST = 1024 };  // a slot is used again only after this many others were given back

extern struct arena *const __start_hooks_arenas[] __attribute__((visibility("hidden")));
extern struct arena *const __stop_hooks_arenas[] __attribute__((visibility("hidden")));

static struct slot *slot_of(struct arena *arena, uint32_t index) {
  return (struct slot *)(void *)(arena->base + (uint64_t)index * arena->slotBytes);
}

static bool reserve(struct arena *arena) {
  if (arena->base) return true;
  void *base = mmap(NULL, (size_t)arena->capacity * arena->slotBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  arena->base = base;
  return true;
}

void *arena_take(struct arena *arena) {
  struct slot *slot = NULL;
  lock_take(&arena->lock);
  if (reserve(arena)) {
    bool fresh = arena->used < arena->capacity;
    if (arena->freeCount > (fresh ? REST : 0)) {
      uint32_t index = arena->firstFree - 1;
      slot = slot_of(arena, index);
      arena->firstFree = slot->nextFree;
      arena->freeCount--;
      memset(slot, 0, arena->slotBytes);
      slot->number = index + FIRST_NUMBER;
    } else if (fresh) {
      slot = slot_of(arena, arena->used);
      slot->number = arena->used + FIRST_NUMBER;
      atomic_store_explicit(&arena->used, arena->used + 1, memory_order_release);
    }
  }
  lock_release(&arena->lock);
  return slot;
}

bool arena_give(struct arena *arena, void *handle) {
  struct slot *slot = handle;
  uint32_t index = (uint32_t)(((uint8_t *)handle - arena->base) / arena->slotBytes);
  lock_take(&arena->lock);
  bool first = slot->live == arena->mark;
  if (first) {
    atomic_store_explicit(&slot->live, 0, memory_order_release);
    slot->nextFree = 0;
    if (arena->freeCount++) {
      slot_of(arena, arena->lastFree - 1)->nextFree = index + 1;
    } else {
      arena->firstFree = index + 1;
    }
    arena->lastFree = index + 1;
  }
  lock_release(&arena->lock);
  return first;
}

static void reset(struct arena *arena) {
  if (arena->base) madvise(arena->base, (size_t)arena->capacity * arena->slotBytes, MADV_DONTNEED);
  arena->lock.word = 0;
  arena->used = arena->firstFree = arena->lastFree = arena->freeCount = 0;
}

static void handles_reset(void) {
  for (struct arena *const *arena = __start_hooks_arenas; arena < __stop_hooks_arenas; arena++) reset(*arena);
}
ON_FORK(handles_reset);
