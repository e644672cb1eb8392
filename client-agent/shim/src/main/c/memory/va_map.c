// SPDX-License-Identifier: Apache-2.0
#include "memory/va_map.h"

#include "ops.h"
#include "memory/va_reservation.h"
#include "core/ranges.h"

#include <stdlib.h>
#include <unistd.h>

enum { DEVICE_ALIGNMENT = 256 };  // of what a driver allocates, at least

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
  struct ranges pages;  // mapped around variables
} all;

static uint64_t page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

static uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

void twins_reset(void) {
  all.first = NULL;
  all.lock.word = 0;
}

static CUresult find_place(struct context *context, struct twin *twin) {
  struct misfits misfits = {0};
  uint64_t whole = twin->bytes + page_bytes() - DEVICE_ALIGNMENT;
  CUresult result;
  do {
    result = context_result(context, op_memAlloc(context->number, whole, &twin->allocation));
  } while (place_again(&misfits, twin->allocation, whole, &result));
  place_end(&misfits, context);
  if (result) return result;
  twin->address = round_up(twin->allocation, page_bytes());
  if (place_map(twin->address, twin->bytes)) return CUDA_SUCCESS;
  op_memFree(context->number, twin->allocation);
  return CUDA_ERROR_OUT_OF_MEMORY;
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
  place_unmap(address, twin->bytes);
  CUresult result = op_memFree(twin->context->number, twin->allocation);
  free(twin);
  return result;
}

bool twin_map(uint64_t address, uint64_t bytes) {
  uint64_t page = page_bytes();
  for (uint64_t at = address / page * page; at < address + bytes; at += page) {
    struct range range = {.base = at, .bytes = page};
    if (ranges_find(&all.pages, at, NULL)) continue;
    if (!place_map(at, page) || !ranges_add(&all.pages, &range)) return false;
  }
  return true;
}

void twins_forget(uint64_t contextId, bool (*unmap)(uint64_t address)) {
  lock_take(&all.lock);
  for (struct twin **at = &all.first; *at;) {
    struct twin *twin = *at;
    if (twin->contextId == contextId) {
      if (unmap(twin->address)) {
        place_unmap(twin->address, twin->bytes);
      } else {
        place_leave(twin->address, twin->bytes);
      }
      *at = twin->next;
      free(twin);
    } else {
      at = &twin->next;
    }
  }
  lock_release(&all.lock);
}
