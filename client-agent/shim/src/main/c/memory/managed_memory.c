// SPDX-License-Identifier: Apache-2.0
#include "memory/managed_memory.h"

#include "context/memory_ranges.h"
#include "core/fork.h"
#include "core/log.h"
#include "memory/memory_note.h"
#include "memory/mirror.h"
#include "memory/va_map.h"
#include "shim.h"
#include "stream/stream.h"
#include "transport/device_table.h"

#include <stdlib.h>
#include <string.h>

enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2, ATTACH_SINGLE = 4 };

enum advice {
  SET_READ_MOSTLY = 1,
  UNSET_READ_MOSTLY,
  SET_PREFERRED_LOCATION,
  UNSET_PREFERRED_LOCATION,
  SET_ACCESSED_BY,
  UNSET_ACCESSED_BY,
};

enum range_attribute {
  READ_MOSTLY = 1,
  PREFERRED_LOCATION,
  ACCESSED_BY,
  LAST_PREFETCH_LOCATION,
  PREFERRED_LOCATION_TYPE,
  PREFERRED_LOCATION_ID,
  LAST_PREFETCH_LOCATION_TYPE,
  LAST_PREFETCH_LOCATION_ID,
};

enum { ON_HOST = -1, NOWHERE = -2 };  // CU_DEVICE_CPU, CU_DEVICE_INVALID

/** The program's advice for a whole allocation, even if it named only a part. */
struct advised {
  struct advised *next;
  uint64_t base;
  bool readMostly;
  int preferred, prefetched;  // a device, or ON_HOST or NOWHERE
  uint64_t accessedBy;        // bit of a device
  bool accessedByHost;
};

static struct {
  struct lock lock;
  struct advised *first;
} all;

static void managed_reset(void) { memset(&all, 0, sizeof all); }

ON_FORK(managed_reset);

static bool find(CUdeviceptr address, uint64_t bytes, struct range *range) {
  return ranges_find(&deviceRanges, address, range) && range->kind == RANGE_MANAGED &&
         bytes <= range->base + range->bytes - address;
}

static CUresult note(struct context *context, uint64_t address, uint64_t bytes) {
  struct advised *advised = calloc(1, sizeof *advised);
  if (!advised) return CUDA_ERROR_OUT_OF_MEMORY;
  advised->base = address;
  advised->preferred = advised->prefetched = NOWHERE;
  memory_note(context, address, bytes, RANGE_MANAGED);
  lock_take(&all.lock);
  advised->next = all.first;
  all.first = advised;
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

static void forget(uint64_t base) {
  lock_take(&all.lock);
  struct advised **at = &all.first;
  while (*at && (*at)->base != base) at = &(*at)->next;
  struct advised *advised = *at;
  if (advised) *at = advised->next;
  lock_release(&all.lock);
  free(advised);
}

CUresult shim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
  struct context *context;
  uint64_t address;
  if (!dptr || !bytesize || (flags != ATTACH_GLOBAL && flags != ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = context_current(&context);
  if (!result) result = va_map_allocate(context, bytesize, &address);
  if (result) return result;
  result = mirror_add(context, (void *)(uintptr_t)address, address, bytesize, MIRROR_ZEROED);
  if (!result && flags == ATTACH_HOST) mirror_loosen(address);
  if (!result && (result = note(context, address, bytesize))) mirror_drop(address);
  if (result) {
    va_map_free(address);
    return result;
  }
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult managed_free(const struct range *range) {
  mirror_drop(range->base);
  forget(range->base);
  return va_map_free(range->base);
}

/** Managed memory is gone with its context; what was allocated as the host's stays readable. */
static bool is_managed(uint64_t address) {
  struct range range;
  return ranges_find(&deviceRanges, address, &range) && range.kind == RANGE_MANAGED;
}

static void managed_forget(struct context *context) { va_maps_forget(context->id, is_managed); }
ON_CONTEXT_END(mappings, managed_forget);

CUresult managed_variable(struct context *context, uint64_t address, uint64_t bytes) {
  if (is_managed(address)) return CUDA_SUCCESS;
  if (!va_map_pages(address, bytes)) {
    log_line(LOG_WARN, "a __managed__ variable's address is taken in this process"
                       " (CUDA_ERROR_NOT_SUPPORTED)");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  CUresult result =
      mirror_add(context, (void *)(uintptr_t)address, address, bytes, MIRROR_FETCHED);
  return result ? result : note(context, address, bytes);
}

// Attaching to a stream allows the host to touch memory while kernels run that cannot: then it is looked
// through before every launch.

CUresult shim_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                     unsigned int flags) {
  struct context *context;
  struct range range;
  uint32_t stream;
  if (flags != ATTACH_GLOBAL && flags != ATTACH_HOST && flags != ATTACH_SINGLE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &stream);
  if (result) return result;
  if (flags == ATTACH_SINGLE && stream == NUMBER_LEGACY_STREAM) return CUDA_ERROR_INVALID_VALUE;
  if (!find(dptr, 1, &range) || range.base != dptr || (length && length != range.bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (flags != ATTACH_GLOBAL) mirror_loosen(range.base);
  return CUDA_SUCCESS;
}

// Prefetching and advice are hints about where pages are; they are kept, and change nothing else.

/** The device of a location, or ON_HOST; false if it is none. */
static bool device_of(struct location location, int *device) {
  *device = location.type == LOCATION_DEVICE ? location.id : ON_HOST;
  return location.type == LOCATION_DEVICE ? device_find(location.id) != NULL
                                          : location.type >= LOCATION_HOST && location.type <= 4;
}

struct location location_of_device(CUdevice device) {
  return device == ON_HOST ? (struct location){LOCATION_HOST, 0}
                           : (struct location){LOCATION_DEVICE, device};
}

CUresult managed_prefetch(CUdeviceptr address, size_t bytes, struct location location, CUstream handle) {
  struct context *context;
  struct range range;
  uint32_t stream;
  int device;
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(handle, &context, &stream);
  if (result) return result;
  if (!device_of(location, &device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes || !find(address, bytes, &range)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  for (struct advised *at = all.first; at; at = at->next) {
    if (at->base == range.base) at->prefetched = device;
  }
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

/** Prefetches several ranges: each location counts from its index on. */
static CUresult prefetch_batch(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                               CUmemLocation *locations, const size_t *indices,
                               size_t locationCount, CUstream handle) {
  if (!dptrs || !sizes || !count || !locations || !indices || !locationCount || indices[0]) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = CUDA_SUCCESS;
  size_t at = 0;
  for (size_t i = 0; i < count && !result; i++) {
    while (at + 1 < locationCount && indices[at + 1] <= i) at++;
    result = managed_prefetch(dptrs[i], sizes[i], location_of(&locations[at]), handle);
  }
  return result;
}

CUresult shim_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                      CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags,
                                      CUstream hStream) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  return prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                        hStream);
}

/** Discarded memory may have any contents, so it keeps those it has. */
CUresult shim_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                     unsigned long long flags, CUstream hStream) {
  struct context *context;
  struct range range;
  uint32_t stream;
  if (flags || !dptrs || !sizes || !count) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_or_none(&context);
  if (!result) result = stream_number(hStream, &context, &stream);
  for (size_t i = 0; i < count && !result; i++) {
    if (!sizes[i] || !find(dptrs[i], sizes[i], &range)) result = CUDA_ERROR_INVALID_VALUE;
  }
  return result;
}

static void keep(struct advised *advised, enum advice advice, int device) {
  uint64_t bit = device >= 0 ? UINT64_C(1) << device : 0;
  switch (advice) {
    case SET_READ_MOSTLY:
    case UNSET_READ_MOSTLY:
      advised->readMostly = advice == SET_READ_MOSTLY;
      break;
    case SET_PREFERRED_LOCATION:
      advised->preferred = device;
      break;
    case UNSET_PREFERRED_LOCATION:
      advised->preferred = NOWHERE;
      break;
    case SET_ACCESSED_BY:
      advised->accessedBy |= bit;
      advised->accessedByHost |= device == ON_HOST;
      break;
    case UNSET_ACCESSED_BY:
      advised->accessedBy &= ~bit;
      advised->accessedByHost &= device != ON_HOST;
      break;
  }
}

CUresult managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, struct location location) {
  struct range range;
  int device = ON_HOST;
  if (advice < SET_READ_MOSTLY || advice > UNSET_ACCESSED_BY) return CUDA_ERROR_INVALID_VALUE;
  bool located = advice == SET_PREFERRED_LOCATION || advice >= SET_ACCESSED_BY;
  if (located && !device_of(location, &device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes || !find(address, bytes, &range)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  for (struct advised *at = all.first; at; at = at->next) {
    if (at->base == range.base) keep(at, (enum advice)advice, device);
  }
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

/** Devices, then the host, as far as there is room; what is left over is NOWHERE. */
static CUresult put_accessors(const struct advised *advised, int *data, size_t count) {
  size_t used = 0;
  for (int device = 0; device < MAX_DEVICES && used < count; device++) {
    if (advised->accessedBy >> device & 1) data[used++] = device;
  }
  if (advised->accessedByHost && used < count) data[used++] = ON_HOST;
  while (used < count) data[used++] = NOWHERE;
  return CUDA_SUCCESS;
}

static int location_type(int device) {
  return device == NOWHERE ? 0 : device == ON_HOST ? LOCATION_HOST : LOCATION_DEVICE;
}

static CUresult put_attribute(const struct advised *advised, void *data, size_t bytes,
                              CUmem_range_attribute attribute) {
  int *value = data;
  if (!data || bytes % sizeof *value || !bytes) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == ACCESSED_BY) return put_accessors(advised, value, bytes / sizeof *value);
  if (bytes != sizeof *value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case READ_MOSTLY:
      *value = advised->readMostly;
      return CUDA_SUCCESS;
    case PREFERRED_LOCATION:
      *value = advised->preferred;
      return CUDA_SUCCESS;
    case LAST_PREFETCH_LOCATION:
      *value = advised->prefetched;
      return CUDA_SUCCESS;
    case PREFERRED_LOCATION_TYPE:
      *value = location_type(advised->preferred);
      return CUDA_SUCCESS;
    case PREFERRED_LOCATION_ID:
      *value = advised->preferred >= 0 ? advised->preferred : 0;
      return CUDA_SUCCESS;
    case LAST_PREFETCH_LOCATION_TYPE:
      *value = location_type(advised->prefetched);
      return CUDA_SUCCESS;
    case LAST_PREFETCH_LOCATION_ID:
      *value = advised->prefetched >= 0 ? advised->prefetched : 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult shim_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                     CUdeviceptr devPtr, size_t count) {
  struct range range;
  if (!count || !find(devPtr, count, &range)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  lock_take(&all.lock);
  for (struct advised *at = all.first; at; at = at->next) {
    if (at->base == range.base) result = put_attribute(at, data, dataSize, attribute);
  }
  lock_release(&all.lock);
  return result;
}

CUresult shim_cuMemRangeGetAttributes(void **data, size_t *dataSizes,
                                      CUmem_range_attribute *attributes, size_t numAttributes,
                                      CUdeviceptr devPtr, size_t count) {
  if (!data || !dataSizes || !attributes || !numAttributes) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < numAttributes && !result; i++) {
    result = shim_cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
  }
  return result;
}
