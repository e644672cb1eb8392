// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_memory.h"

#include "context/memory_ranges.h"
#include "core/fork.h"
#include "graph/graph_lock.h"
#include "memory/memory.h"
#include "memory/memory_note.h"
#include "ops.h"
#include "shim.h"
#include "transport/device_table.h"

#include <stdlib.h>
#include <string.h>

// CUgraphMem_attribute
enum { USED = 0, USED_HIGH = 1, RESERVED = 2, RESERVED_HIGH = 3 };

static struct {
  struct graph_memory *first;
  uint64_t values[MAX_DEVICES][4];  // by attribute
  uint64_t alive[MAX_DEVICES];      // bytes allocated by launches and not freed
} all;

static void graph_memory_reset(void) { memset(&all, 0, sizeof all); }

ON_FORK(graph_memory_reset);

static void add(CUdevice device, int attribute, uint64_t bytes) {
  uint64_t *values = all.values[device];
  values[attribute] += bytes;
  if (values[attribute] > values[attribute + 1]) values[attribute + 1] = values[attribute];
}

CUresult graph_memory_make(struct context *context, uint64_t bytes, struct graph_memory **made) {
  uint64_t address = 0;
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  struct graph_memory *memory = calloc(1, sizeof *memory);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = context_result(context, op_memAlloc(context->number, bytes, &address));
  if (result) {
    free(memory);
    return result;
  }
  memory_note(context, address, bytes, RANGE_GRAPH);
  *memory = (struct graph_memory){.references = 1,
                                  .address = address,
                                  .bytes = bytes,
                                  .device = context->device,
                                  .contextNumber = context->number};
  lock_take(&graphLock);
  memory->next = all.first;
  all.first = memory;
  add(memory->device, RESERVED, bytes);
  lock_release(&graphLock);
  *made = memory;
  return CUDA_SUCCESS;
}

struct graph_memory *graph_memory_find(uint64_t address) {
  struct graph_memory *memory = all.first;
  while (memory && memory->address != address) memory = memory->next;
  return memory;
}

// Memory that graphs have freed counts as used until it is trimmed, because other graphs may take it; so the use is
// the most that was alive at a time.
void graph_memory_come_alive(struct graph_memory *memory) {
  CUdevice device = memory->device;
  memory->alive = true;
  all.alive[device] += memory->bytes;
  uint64_t used = all.values[device][USED];
  if (all.alive[device] > used) add(device, USED, all.alive[device] - used);
}

void graph_memory_give_up(struct graph_memory *memory) {
  if (!memory->alive) return;
  memory->alive = false;
  all.alive[memory->device] -= memory->bytes;
}

void graph_memory_drop(struct graph_memory *memory) {
  if (--memory->references) return;
  struct graph_memory **at = &all.first;
  while (*at != memory) at = &(*at)->next;
  *at = memory->next;
  graph_memory_give_up(memory);
  all.values[memory->device][RESERVED] -= memory->bytes;
  // A context that is gone has taken its memory along, and the note of it.
  if (ranges_remove(&deviceRanges, memory->address, NULL)) {
    op_memFree(memory->contextNumber, memory->address);
  }
  free(memory);
}

static bool graph_memory_free(CUdeviceptr address) {
  lock_take(&graphLock);
  struct graph_memory *memory = graph_memory_find(address);
  bool had = memory && memory->alive;
  if (had) graph_memory_give_up(memory);
  lock_release(&graphLock);
  return had;
}
FREES_GRAPH_MEMORY(graph_memory_free);

CUresult shim_cuDeviceGraphMemTrim(CUdevice device) {
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  // Nothing else is kept that no graph needs.
  lock_take(&graphLock);
  all.values[device][USED] = all.alive[device];
  lock_release(&graphLock);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                           void *value) {
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!value || attr < USED || attr > RESERVED_HIGH) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  *(cuuint64_t *)value = all.values[device][attr];
  lock_release(&graphLock);
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                           void *value) {
  if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
  // The high marks alone can be set, back to what there is now.
  if (!value || (attr != USED_HIGH && attr != RESERVED_HIGH) || *(cuuint64_t *)value) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  lock_take(&graphLock);
  all.values[device][attr] = all.values[device][attr - 1];
  lock_release(&graphLock);
  return CUDA_SUCCESS;
}
