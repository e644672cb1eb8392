// SPDX-License-Identifier: Apache-2.0
// Handles are addresses of slots in arenas that are reserved once and never unmapped, so that a stale
// or wild handle is told from a live one without touching foreign memory. Slots are used again late.
#pragma once

#include "core/driver.h"
#include "core/hooks.h"
#include "core/lock.h"

#include <stdatomic.h>

enum {
  FIRST_NUMBER = 16,  // the client's numbers below are special ones
  NUMBER_NULL = 0,
  NUMBER_LEGACY_STREAM = 1,
};

/** Begins every handle's struct. */
struct slot {
  _Atomic uint32_t live;      // the arena's mark while the handle is good
  uint32_t number;    // the client's number for it on the call stream
  uint32_t nextFree;  // index + 1
};

struct arena {
  uint8_t *base;
  uint32_t slotBytes, capacity, mark;
  struct lock lock;
  _Atomic uint32_t used;  // slots ever used
  uint32_t firstFree, lastFree, freeCount;
};

/** Defines the arena of a struct that begins with a slot; each has a mark of its own. */
#define ARENA(name, type, count, mark_) \
  struct arena name = {.slotBytes = (sizeof(struct type) + 63) / 64 * 64, .capacity = count, .mark = mark_}; \
  static struct arena *const arena_##name __attribute__((section("hooks_arenas"), used)) = &name

/** A zeroed slot that is not live yet, or NULL if there is no room. */
void *arena_take(struct arena *arena);

/** Makes a slot's handle good. */
static inline void arena_publish(struct arena *arena, void *slot) {
  atomic_store_explicit(&((struct slot *)slot)->live, arena->mark, memory_order_release);
}

/** Makes a handle bad; the slot is used again later. False if somebody else did. */
bool arena_give(struct arena *arena, void *slot);

/** Returns whether a handle is good whose memory is a slot of this arena. */
static inline bool slot_is_live(const struct slot *slot, const struct arena *arena) {
  return atomic_load_explicit(&slot->live, memory_order_relaxed) == arena->mark;
}

/** The number of slots, from the first on, that were ever used. */
static inline uint32_t arena_used(const struct arena *arena) {
  return atomic_load_explicit(&arena->used, memory_order_acquire);
}

/** The slot of a handle, or NULL if it is not a live one. */
static inline void *arena_find(const struct arena *arena, const void *handle) {
  uint64_t used = arena_used(arena);
  uint64_t offset = (uint64_t)(uintptr_t)handle - (uint64_t)(uintptr_t)arena->base;
  if (offset >= used * arena->slotBytes || offset % arena->slotBytes) return NULL;
  const struct slot *slot = handle;
  return atomic_load_explicit(&slot->live, memory_order_acquire) == arena->mark ? (void *)handle : NULL;
}

/** The slot of this index, or NULL if it is not live: for walking over used slots. */
static inline void *arena_at(const struct arena *arena, uint32_t index) {
  return arena_find(arena, arena->base + (uint64_t)index * arena->slotBytes);
}
