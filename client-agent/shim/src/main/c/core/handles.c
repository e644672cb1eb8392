// SPDX-License-Identifier: Apache-2.0
#include "core/handles.h"

#include "memory/array.h"
#include "context/context.h"
#include "stream/event.h"
#include "graph/graph.h"
#include "graph/graph_exec.h"
#include "module/library.h"
#include "transport/connection.h"
#include "module/module.h"
#include "memory/memory_pool.h"
#include "texture/texture_reference.h"
#include "stream/stream.h"
#include "graph/user_object.h"
#include "memory/virtual_memory.h"

#include <string.h>
#include <sys/mman.h>

enum { REST = 1024 };  // so many others are given back before a slot is used again

#define ARENA(type, count, mark_) \
  { .slotBytes = (sizeof(struct type) + 63) / 64 * 64, .capacity = count, .mark = mark_ }

struct arena contexts = ARENA(context, CONNECTION_CONTEXTS - FIRST_NUMBER, 0x43545831);
struct arena streams = ARENA(stream, 1 << 16, 0x53545231);
struct arena events = ARENA(event, 1 << 20, 0x45565431);
struct arena modules = ARENA(module, 1 << 16, 0x4d4f4431);
struct arena functions = ARENA(function, 1 << 19, 0x46554e31);
struct arena libraries = ARENA(library, 1 << 16, 0x4c494231);
struct arena kernels = ARENA(kernel, 1 << 19, 0x4b524e31);
struct arena pools = ARENA(pool, 1 << 12, 0x504f4f31);
struct arena arrays = ARENA(array, 1 << 18, 0x41525231);
struct arena mipmaps = ARENA(mipmap, 1 << 14, 0x4d495031);
struct arena references = ARENA(reference, 1 << 16, 0x52454631);
struct arena graphs = ARENA(graph, 1 << 18, 0x47524831);
struct arena graphNodes = ARENA(graph_node, 1 << 20, 0x4e4f4431);
struct arena graphExecs = ARENA(graph_exec, 1 << 16, 0x45584331);
struct arena userObjects = ARENA(user_object, 1 << 18, 0x55534f31);
struct arena blocks = ARENA(block, 1 << 20, 0x424c4b31);

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
      __atomic_store_n(&arena->used, arena->used + 1, __ATOMIC_RELEASE);
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
    __atomic_store_n(&slot->live, 0, __ATOMIC_RELEASE);
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

void handles_reset(void) {
  struct arena *all[] = {&contexts,  &streams, &events, &modules,    &functions,
                         &libraries, &kernels, &pools,  &arrays,     &mipmaps,
                         &graphs,    &graphNodes,       &graphExecs, &userObjects, &blocks,
                         &references};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) reset(all[i]);
}
