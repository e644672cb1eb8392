// SPDX-License-Identifier: Apache-2.0
#include "memory/virtual_memory.h"

#include "context/context.h"
#include "context/memory_ranges.h"
#include "core/fork.h"
#include "memory/share_token.h"
#include "memory/va_reservation.h"
#include "ops.h"
#include "shim.h"
#include "stream/route.h"
#include "transport/connection.h"
#include "transport/device_table.h"

#include <string.h>

ARENA(blocks, block, 1 << 20, 0x424c4b31);

static struct lock lock;  // guards the counts of blocks
static struct ranges reserved;  // on several connections: addresses, and in `host` the connection

static void virtual_reset(void) {
  lock.word = 0;
  reserved = (struct ranges){0};
}

ON_FORK(virtual_reset);

static struct block *find(CUmemGenericAllocationHandle handle) {
  return arena_find(&blocks, (const void *)(uintptr_t)handle);
}

/** The context that calls travel with: they need none, but errors are kept by it. */
static CUresult begin(struct context **context) {
  CUresult result = context_or_none(context);
  if (!result && !*context) *context = context_any();
  if (!result && !*context) *context = context_any_or_none(0);
  return result;
}

/** Does the same as begin, for the connection of a device. */
static CUresult begin_of(CUdevice device, struct context **context) {
  CUresult result = context_or_none(context);
  if (!result) *context = context_any_or_none(device_connection(device));
  return result;
}

/** Does the same as begin, for the connection on which addresses were reserved. */
static CUresult begin_at(CUdeviceptr address, struct context **context) {
  struct range range;
  CUresult result = begin(context);
  if (result || !connections_several() || !ranges_find(&reserved, address, &range)) return result;
  *context = context_any_or_none((uint32_t)range.host);
  return CUDA_SUCCESS;
}

static bool has_descriptors(CUdevice device) {
  return device_attribute(device, ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) > 0;
}

static CUresult check_prop(const CUmemAllocationProp *prop) {
  if (!prop || prop->type != ALLOCATION_PINNED) return CUDA_ERROR_INVALID_VALUE;
  // Host memory, and handles of other kinds: the device's attributes say that there are none.
  if (prop->location.type != LOCATION_DEVICE || prop->requestedHandleTypes & ~HANDLE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (!device_find(prop->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if (prop->requestedHandleTypes && !has_descriptors(prop->location.id)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  bool supported =
      device_attribute(prop->location.id, ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) > 0;
  return supported ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult shim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                            CUmemAllocationGranularity_flags option) {
  struct context *context;
  if (!granularity || option < 0 || option > 1) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = check_prop(prop);
  if (!result) result = begin_of(prop->location.id, &context);
  if (result) return result;
  uint64_t bytes = 0;
  result = context_result(
      context, op_vmGranularity(context->number, device_ordinal(prop->location.id),
                                (uint32_t)option, &bytes));
  if (!result) *granularity = bytes;
  return result;
}

// Addresses

CUresult shim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                  unsigned long long flags) {
  struct context *context;
  if (!ptr || !size || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin(&context);
  if (result) return result;
  uint64_t address = 0;
  result = context_result(context, op_vmReserve(context->number, size, alignment, addr, &address));
  if (result) return result;
  if (!va_reserve(address, size)) {
    op_vmFree(context->number, address, size);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  struct range range = {.base = address, .bytes = size, .host = context->number >> CONNECTION_SHIFT};
  if (connections_several() && !ranges_add(&reserved, &range)) return CUDA_ERROR_OUT_OF_MEMORY;
  *ptr = address;
  return CUDA_SUCCESS;
}

CUresult shim_cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  struct context *context;
  CUresult result = begin_at(ptr, &context);
  if (!result) result = context_result(context, op_vmFree(context->number, ptr, size));
  if (!result && connections_several()) ranges_remove(&reserved, ptr, NULL);
  return result;
}

// Blocks

CUresult shim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                          const CUmemAllocationProp *prop, unsigned long long flags) {
  struct context *context;
  if (!handle || !size || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = check_prop(prop);
  if (!result) result = begin_of(prop->location.id, &context);
  if (result) return result;
  struct block *block = arena_take(&blocks);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  block->bytes = size;
  block->device = prop->location.id;
  block->handleTypes = prop->requestedHandleTypes;
  block->handles = 1;
  arena_publish(&blocks, block);
  result = context_result(
      context, op_vmCreate(context->number, block->slot.number, device_ordinal(block->device), size,
                           (uint32_t)block->handleTypes));
  if (result) {
    arena_give(&blocks, block);
    return result;
  }
  *handle = (uintptr_t)block;
  return CUDA_SUCCESS;
}

/** Ends a block that has neither handle nor mapping; the lock is held. */
static void end_if_unused(struct block *block) {
  if (!block->handles && !block->mappings) arena_give(&blocks, block);
}

CUresult shim_cuMemRelease(CUmemGenericAllocationHandle handle) {
  struct context *context;
  CUresult result = begin(&context);
  if (result) return result;
  lock_take(&lock);
  struct block *block = find(handle);
  if (!block || !block->handles) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if ((result = begin_of(block->device, &context))) {
    // No context of its connection is left.
  } else if (--block->handles == 0) {
    result = op_vmRelease(context->number, block->slot.number);
    end_if_unused(block);
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
  struct context *context;
  struct range range;
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin_at((uintptr_t)addr, &context);
  if (result) return result;
  uint64_t address = (uintptr_t)addr;
  lock_take(&lock);
  bool mapped = ranges_find(&deviceRanges, address, &range) && range.kind == RANGE_VIRTUAL;
  struct block *block = mapped ? find(range.host) : NULL;
  if (!block) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (!block->handles) {
    result = context_result(context, op_vmRetain(context->number, block->slot.number, address));
  }
  if (!result) {
    block->handles++;
    *handle = (uintptr_t)block;
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                     CUmemGenericAllocationHandle handle) {
  struct block *block = find(handle);
  if (!prop || !block || !block->handles) return CUDA_ERROR_INVALID_VALUE;
  memset(prop, 0, sizeof *prop);
  prop->type = ALLOCATION_PINNED;
  prop->requestedHandleTypes = block->handleTypes;
  prop->location = (struct location){LOCATION_DEVICE, block->device};
  return CUDA_SUCCESS;
}

// Between processes

CUresult shim_cuMemExportToShareableHandle(void *shareableHandle,
                                           CUmemGenericAllocationHandle handle,
                                           CUmemAllocationHandleType handleType,
                                           unsigned long long flags) {
  struct context *context;
  struct token token;
  if (!shareableHandle || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin(&context);
  if (result) return result;
  lock_take(&lock);
  struct block *block = find(handle);
  if (!block || !block->handles || !(block->handleTypes & handleType)) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else {
    result = begin_of(block->device, &context);
  }
  if (!result) {
    result = context_result(
        context, op_vmShare(context->number, block->slot.number, TOKEN_OUT(token)));
  }
  lock_release(&lock);
  return result ? result : token_put_descriptor(&token, shareableHandle);
}

CUresult shim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                             CUmemAllocationHandleType shHandleType) {
  struct context *context;
  struct token token;
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != HANDLE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult result = begin(&context);
  if (!result) result = token_get_descriptor((int)(intptr_t)osHandle, &token);
  if (result) return result;
  struct block *block = arena_take(&blocks);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  uint32_t ordinal = 0;
  result = context_result(context, op_vmOpen(context->number, TOKEN_IN(token), block->slot.number,
                                             &ordinal, &block->bytes));
  if (!result && !device_of_ordinal((uint32_t)(context->number >> CONNECTION_SHIFT), ordinal, &block->device)) {
    op_vmRelease(context->number, block->slot.number);
    result = CUDA_ERROR_INVALID_DEVICE;
  }
  block->handleTypes = HANDLE_DESCRIPTOR;
  block->handles = 1;
  arena_publish(&blocks, block);
  if (result) {
    arena_give(&blocks, block);
    return result;
  }
  *handle = (uintptr_t)block;
  return CUDA_SUCCESS;
}

// Mappings

CUresult shim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                       CUmemGenericAllocationHandle handle, unsigned long long flags) {
  struct context *context;
  if (!ptr || !size || flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin_at(ptr, &context);
  if (result) return result;
  lock_take(&lock);
  struct block *block = find(handle);
  if (!block || !block->handles) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (!connection_same(connection_no_context(device_connection(block->device)), context->number)) {
    result = CUDA_ERROR_NOT_SUPPORTED;  // the addresses are another server's
  } else {
    result = context_result(
        context, op_vmMap(context->number, ptr, size, offset, block->slot.number));
  }
  if (!result) {
    struct range range = {.base = ptr,
                          .bytes = size,
                          .context = context,
                          .id = memory_next_id(),
                          .host = handle,
                          .kind = RANGE_VIRTUAL};
    block->mappings++;
    if (!ranges_add(&deviceRanges, &range)) result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuMemUnmap(CUdeviceptr ptr, size_t size) {
  struct context *context;
  struct range range;
  CUresult result = begin_at(ptr, &context);
  if (result) return result;
  lock_take(&lock);
  result = context_result(context, op_vmUnmap(context->number, ptr, size));
  for (uint64_t at = ptr; !result && at < ptr + size; at = range.base + range.bytes) {
    if (!ranges_find(&deviceRanges, at, &range) || range.kind != RANGE_VIRTUAL) break;
    struct block *block = find(range.host);
    ranges_remove(&deviceRanges, range.base, NULL);
    if (!block) continue;
    block->mappings--;
    end_if_unused(block);
  }
  lock_release(&lock);
  return result;
}

CUresult shim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                             size_t count) {
  struct context *context;
  if (!desc || !count) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = begin_at(ptr, &context);
  for (size_t i = 0; !result && i < count; i++) {
    if (desc[i].location.type != LOCATION_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    CUdevice device = desc[i].location.id;
    if (!device_find(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!connection_same(connection_no_context(device_connection(device)), context->number)) {
      return CUDA_ERROR_INVALID_DEVICE;  // it does not reach another server's memory
    }
    result = context_result(
        context, op_vmSetAccess(context->number, ptr, size, device_ordinal(device),
                                (uint32_t)desc[i].flags));
  }
  return result;
}

CUresult shim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                             CUdeviceptr ptr) {
  struct context *context;
  if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
  struct location given = location_of(location);
  if (given.type != LOCATION_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!device_find(given.id)) return CUDA_ERROR_INVALID_DEVICE;
  CUresult result = begin_at(ptr, &context);
  if (result) return result;
  uint64_t value = 0;
  bool reachable = connection_same(connection_no_context(device_connection(given.id)), context->number);
  if (!reachable) {
    *flags = 0;
    return CUDA_SUCCESS;
  }
  result = context_result(
      context, op_vmGetAccess(context->number, ptr, device_ordinal(given.id), &value));
  if (!result) *flags = value;
  return result;
}
