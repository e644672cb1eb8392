// SPDX-License-Identifier: Apache-2.0
#include "memory/mapped_memory.h"

#include "context/memory_ranges.h"
#include "core/fork.h"
#include "memory/host_settle.h"
#include "memory/mirror.h"
#include "memory/va_map.h"
#include "memory/va_reservation.h"
#include "ops.h"
#include "shim.h"

/** Device addresses by host addresses: base is the host's, host the device's. */
static struct ranges byHost;

static struct lock making;  // so that one asker alone makes a copy

static void mapped_reset(void) {
  byHost = (struct ranges){0};
  making.word = 0;
}

ON_FORK(mapped_reset);

bool mapped_find(uint64_t host, struct range *mapped) {
  struct range entry;
  return ranges_find(&byHost, host, &entry) && ranges_find(&deviceRanges, entry.host, mapped) &&
         mapped->kind == RANGE_MAPPED && mapped->host == entry.base;
}

static bool note(struct context *context, uint64_t host, uint64_t device, uint64_t bytes) {
  struct range range = {.base = device,
                        .bytes = bytes,
                        .host = host,
                        .context = context,
                        .contextId = context->id,
                        .id = memory_next_id(),
                        .kind = RANGE_MAPPED};
  struct range entry = {.base = host, .bytes = bytes, .host = device};
  return ranges_add(&deviceRanges, &range) && ranges_add(&byHost, &entry);
}

CUresult mapped_allocate(struct context *context, uint64_t bytes, uint32_t flags, void **memory) {
  uint64_t address;
  CUresult result = va_map_allocate(context, bytes, &address);
  if (result) return result;
  void *host = (void *)(uintptr_t)address;
  result = mirror_add(context, host, address, bytes, MIRROR_ZEROED | MIRROR_ALWAYS);
  if (result) {
    va_map_free(address);
    return result;
  }
  struct range range = {.base = address,
                        .bytes = bytes,
                        .context = context,
                        .contextId = context->id,
                        .id = memory_next_id(),
                        .flags = flags,
                        .kind = RANGE_PINNED};
  if (!ranges_add(&hostRanges, &range) || !note(context, address, address, bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *memory = host;
  return CUDA_SUCCESS;
}

/** Gives memory of the program a copy on the device. */
static CUresult make(const struct range *host, struct range *mapped) {
  struct context *context;
  uint64_t device = 0;
  CUresult result = context_current(&context);
  void *memory = (void *)(uintptr_t)host->base;
  if (!result && host_pending(memory, host->bytes)) result = host_settle(memory, host->bytes);
  if (result) return result;
  struct misfits misfits = {0};
  do {
    result = context_result(context, op_memAlloc(context->number, host->bytes, &device));
  } while (va_allocate_again(&misfits, device, host->bytes, &result));
  va_misfits_free(&misfits, context);
  if (result) return result;
  result = mirror_add(context, memory, device, host->bytes, MIRROR_ALWAYS);
  if (result) {
    op_memFree(context->number, device);
    return result;
  }
  if (!note(context, host->base, device, host->bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  return ranges_find(&deviceRanges, device, mapped) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

bool mapped_forget(const struct range *host) {
  struct range mapped, entry;
  bool found = mapped_find(host->base, &mapped);
  ranges_remove(&byHost, host->base, &entry);
  if (!found) return false;
  mirror_drop(mapped.base);
  ranges_remove(&deviceRanges, mapped.base, &mapped);
  if (mapped.base != host->base) {
    op_memFree(mapped.context->number, mapped.base);
    return false;
  }
  return va_map_free(mapped.base) == CUDA_SUCCESS;
}

CUresult mapped_make(uint64_t address, bool *moved) {
  struct range host, mapped;
  if (!ranges_find(&hostRanges, address, &host)) return CUDA_SUCCESS;
  lock_take(&making);
  CUresult result = mapped_find(host.base, &mapped) ? CUDA_SUCCESS : make(&host, &mapped);
  lock_release(&making);
  if (!result && mapped.base != host.base) *moved = true;
  return result;
}

uint64_t mapped_translate(uint64_t address) {
  struct range host, mapped;
  bool found = ranges_find(&hostRanges, address, &host) && mapped_find(host.base, &mapped);
  return found ? mapped.base + (address - host.base) : address;
}

CUresult shim_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags) {
  uint64_t address = (uintptr_t)p;
  struct range host, mapped;
  if (!pdptr || Flags || !ranges_find(&hostRanges, address, &host)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&making);
  CUresult result = mapped_find(host.base, &mapped) ? CUDA_SUCCESS : make(&host, &mapped);
  lock_release(&making);
  if (!result) *pdptr = mapped.base + (address - host.base);
  return result;
}

CUresult shim_cuMemHostGetDevicePointer(CUdeviceptr_v1 *pdptr, void *p, unsigned int Flags) {
  CUdeviceptr address;
  if (!pdptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuMemHostGetDevicePointer_v2(&address, p, Flags);
  // Device addresses have more bits than this old form can tell.
  return result ? result : CUDA_ERROR_NOT_SUPPORTED;
}
