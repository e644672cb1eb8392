// SPDX-License-Identifier: Apache-2.0
#include "twin.h"

#include "ops.h"
#include "ranges.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
  ATTEMPTS = 16,
  DEVICE_ALIGNMENT = 256,  // of what a driver allocates, at least
};

struct twin {
  struct twin *next;
  uint64_t address, bytes;  // whole pages
  uint64_t allocation;      // the device's address that is to be freed
  struct context *context;
  uint64_t contextId;
};

static struct {
  struct lock lock;
  struct twin *first;
  struct twin *inherited;   // in a forked child: the parent's, in the way of its own
  struct ranges pages;      // mapped around variables
} all;

static uint64_t page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

static uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

void twins_reset(void) {
  struct twin *last = all.first;
  while (last && last->next) last = last->next;
  if (last) {
    last->next = all.inherited;
    all.inherited = all.first;
  }
  all.first = NULL;
  all.lock.word = 0;
}

static bool map_once(uint64_t address, uint64_t bytes) {
  void *wanted = (void *)(uintptr_t)address;
  void *memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // A kernel before 4.17 takes the address as a hint.
  if (memory == wanted) return true;
  munmap(memory, bytes);
  return false;
}

/** Maps pages; what a forked child has of its parent's there gives way. */
static bool map(uint64_t address, uint64_t bytes) {
  if (map_once(address, bytes)) return true;
  bool gaveWay = false;
  lock_take(&all.lock);
  for (struct twin **at = &all.inherited; *at;) {
    struct twin *old = *at;
    if (old->address < address + bytes && address < old->address + old->bytes) {
      munmap((void *)(uintptr_t)old->address, old->bytes);
      *at = old->next;
      gaveWay = true;
    } else {
      at = &old->next;
    }
  }
  lock_release(&all.lock);
  return gaveWay && map_once(address, bytes);
}

/** Allocates on the device until a place is free here too; misfits are kept until then. */
static CUresult find_place(struct context *context, struct twin *twin) {
  uint64_t misfits[ATTEMPTS];
  uint32_t count = 0;
  CUresult result = CUDA_SUCCESS;
  bool found = false;
  while (!result && !found && count < ATTEMPTS) {
    uint64_t whole = twin->bytes + page_bytes() - DEVICE_ALIGNMENT;
    result = context_result(context, op_memAlloc(context->number, whole, &twin->allocation));
    if (result) break;
    twin->address = round_up(twin->allocation, page_bytes());
    found = map(twin->address, twin->bytes);
    if (!found) misfits[count++] = twin->allocation;
  }
  for (uint32_t i = 0; i < count; i++) op_memFree(context->number, misfits[i]);
  return found ? CUDA_SUCCESS : result ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult twin_allocate(struct context *context, uint64_t bytes, uint64_t *address) {
  if (bytes > UINT64_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  struct twin *twin = calloc(1, sizeof *twin);
  if (!twin) return CUDA_ERROR_OUT_OF_MEMORY;
  twin->bytes = round_up(bytes, page_bytes());
  twin->context = context;
  twin->contextId = context->id;
  CUresult result = find_place(context, twin);
  if (result) {
    free(twin);
    return result;
  }
  *address = twin->address;
  lock_take(&all.lock);
  twin->next = all.first;
  all.first = twin;
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

CUresult twin_free(uint64_t address) {
  lock_take(&all.lock);
  struct twin **at = &all.first;
  while (*at && (*at)->address != address) at = &(*at)->next;
  struct twin *twin = *at;
  if (twin) *at = twin->next;
  lock_release(&all.lock);
  if (!twin) return CUDA_ERROR_INVALID_VALUE;
  // Unmapped first: once the device's memory is free, another thread may be given the same place.
  munmap((void *)(uintptr_t)address, twin->bytes);
  CUresult result = op_memFree(twin->context->number, twin->allocation);
  free(twin);
  return result;
}

bool twin_map(uint64_t address, uint64_t bytes) {
  uint64_t page = page_bytes();
  for (uint64_t at = address / page * page; at < address + bytes; at += page) {
    struct range range = {.base = at, .bytes = page};
    if (ranges_find(&all.pages, at, NULL)) continue;
    if (!map(at, page) || !ranges_add(&all.pages, &range)) return false;
  }
  return true;
}

void twins_forget(uint64_t contextId, bool (*unmap)(uint64_t address)) {
  lock_take(&all.lock);
  for (struct twin **at = &all.first; *at;) {
    struct twin *twin = *at;
    if (twin->contextId == contextId) {
      if (unmap(twin->address)) munmap((void *)(uintptr_t)twin->address, twin->bytes);
      *at = twin->next;
      free(twin);
    } else {
      at = &twin->next;
    }
  }
  lock_release(&all.lock);
}
