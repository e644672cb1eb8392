// SPDX-License-Identifier: Apache-2.0
#include "memory/va_map.h"

#include "core/fork.h"
#include "core/ranges.h"
#include "memory/va_reservation.h"
#include "ops.h"

#include <stdlib.h>
#include <unistd.h>

enum { DEVICE_ALIGNMENT = 256 };  // of what a driver allocates, at least

struct mapping {
  struct mapping *next;
  uint64_t address, bytes;  // whole pages
  uint64_t allocation;      // the device's address, to free
  struct context *context;
  uint64_t contextId;
};

static struct {
  struct lock lock;
  struct mapping *first;
  struct ranges pages;  // mapped around variables
} all;

static uint64_t page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

static uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

static void va_maps_reset(void) {
  all.first = NULL;
  all.lock.word = 0;
}

ON_FORK(va_maps_reset);

static CUresult allocate_aligned(struct context *context, struct mapping *mapping) {
  struct misfits misfits = {0};
  uint64_t whole = mapping->bytes + page_bytes() - DEVICE_ALIGNMENT;
  CUresult result;
  do {
    result = context_result(context, op_memAlloc(context->number, whole, &mapping->allocation));
  } while (va_allocate_again(&misfits, mapping->allocation, whole, &result));
  va_misfits_free(&misfits, context);
  if (result) return result;
  mapping->address = round_up(mapping->allocation, page_bytes());
  if (va_make_accessible(mapping->address, mapping->bytes)) return CUDA_SUCCESS;
  op_memFree(context->number, mapping->allocation);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult va_map_allocate(struct context *context, uint64_t bytes, uint64_t *address) {
  if (bytes > UINT64_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  struct mapping *mapping = calloc(1, sizeof *mapping);
  if (!mapping) return CUDA_ERROR_OUT_OF_MEMORY;
  mapping->bytes = round_up(bytes, page_bytes());
  mapping->context = context;
  mapping->contextId = context->id;
  CUresult result = allocate_aligned(context, mapping);
  if (result) {
    free(mapping);
    return result;
  }
  *address = mapping->address;
  lock_take(&all.lock);
  mapping->next = all.first;
  all.first = mapping;
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

CUresult va_map_free(uint64_t address) {
  lock_take(&all.lock);
  struct mapping **at = &all.first;
  while (*at && (*at)->address != address) at = &(*at)->next;
  struct mapping *mapping = *at;
  if (mapping) *at = mapping->next;
  lock_release(&all.lock);
  if (!mapping) return CUDA_ERROR_INVALID_VALUE;
  // Unmapped first: once the device's memory is free, another thread may be given the same place.
  va_make_inaccessible(address, mapping->bytes);
  CUresult result = op_memFree(mapping->context->number, mapping->allocation);
  free(mapping);
  return result;
}

bool va_map_pages(uint64_t address, uint64_t bytes) {
  uint64_t page = page_bytes();
  for (uint64_t at = address / page * page; at < address + bytes; at += page) {
    struct range range = {.base = at, .bytes = page};
    if (ranges_find(&all.pages, at, NULL)) continue;
    if (!va_make_accessible(at, page) || !ranges_add(&all.pages, &range)) return false;
  }
  return true;
}

void va_maps_forget(uint64_t contextId, bool (*unmap)(uint64_t address)) {
  lock_take(&all.lock);
  for (struct mapping **at = &all.first; *at;) {
    struct mapping *mapping = *at;
    if (mapping->contextId == contextId) {
      if (unmap(mapping->address)) {
        va_make_inaccessible(mapping->address, mapping->bytes);
      } else {
        va_release(mapping->address, mapping->bytes);
      }
      *at = mapping->next;
      free(mapping);
    } else {
      at = &mapping->next;
    }
  }
  lock_release(&all.lock);
}
