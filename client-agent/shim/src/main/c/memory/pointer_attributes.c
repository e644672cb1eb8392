// SPDX-License-Identifier: Apache-2.0
// The attributes of pointers, answered from the ranges that the shim knows.
#include "context/memory_ranges.h"
#include "memory/mapped_memory.h"
#include "memory/virtual_memory.h"
#include "shim.h"

#include <string.h>

enum {
  POINTER_CONTEXT = 1,
  POINTER_MEMORY_TYPE = 2,
  POINTER_DEVICE_POINTER = 3,
  POINTER_HOST_POINTER = 4,
  POINTER_P2P_TOKENS = 5,
  POINTER_SYNC_MEMOPS = 6,
  POINTER_BUFFER_ID = 7,
  POINTER_IS_MANAGED = 8,
  POINTER_DEVICE_ORDINAL = 9,
  POINTER_IS_LEGACY_IPC_CAPABLE = 10,
  POINTER_RANGE_START = 11,
  POINTER_RANGE_SIZE = 12,
  POINTER_MAPPED = 13,
  POINTER_ALLOWED_HANDLE_TYPES = 14,
  POINTER_IS_RDMA_CAPABLE = 15,
  POINTER_ACCESS_FLAGS = 16,
  POINTER_MEMPOOL = 17,
  POINTER_MAPPING_SIZE = 18,
  POINTER_MAPPING_BASE = 19,
  POINTER_MEMORY_BLOCK_ID = 20,
  POINTER_IS_DECOMPRESS_CAPABLE = 21,
  ACCESS_READWRITE = 3,
  NO_DEVICE_ORDINAL = -2,
};

struct pointer {
  uint64_t address;
  bool known, host;
  struct range range;
};

static struct pointer look_up(CUdeviceptr address) {
  struct pointer pointer = {.address = address};
  pointer.known = ranges_find(&deviceRanges, address, &pointer.range);
  pointer.host = pointer.known && pointer.range.kind == RANGE_MAPPED;
  if (!pointer.known) {
    pointer.known = pointer.host = ranges_find(&hostRanges, address, &pointer.range);
  }
  return pointer;
}

static CUresult put(void *data, const void *value, size_t bytes) {
  memcpy(data, value, bytes);
  return CUDA_SUCCESS;
}

static CUresult put_int(void *data, int value) { return put(data, &value, sizeof value); }

static CUresult put_word(void *data, uint64_t value) { return put(data, &value, sizeof value); }

/** A boolean fills an int: libcudart reads that many bytes of a variable it has not set before. */
static CUresult put_bool(void *data, bool value) { return put_int(data, value); }

/** Returns the address for devices; page-locked memory without a mapping is at the host's address. */
static uint64_t device_address(const struct pointer *pointer) {
  struct range mapped;
  bool host = pointer->host && pointer->range.kind != RANGE_MAPPED;
  return host && mapped_find(pointer->range.base, &mapped)
             ? mapped.base + (pointer->address - pointer->range.base)
             : pointer->address;
}

/** The kinds of handles by which other processes can open a block. */
static uint64_t handle_types(const struct range *range) {
  if (range->kind != RANGE_VIRTUAL) return 0;
  const struct block *block = arena_find(&blocks, (const void *)(uintptr_t)range->host);
  return block ? (uint64_t)block->handleTypes : 0;
}

/** An attribute of memory that is known. */
static CUresult attribute_of(const struct pointer *pointer, CUpointer_attribute attribute,
                             void *data) {
  const struct range *range = &pointer->range;
  switch (attribute) {
    case POINTER_CONTEXT:
      return put_word(data, (uintptr_t)range->context);
    case POINTER_MEMORY_TYPE:
      return put_int(data, pointer->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case POINTER_DEVICE_POINTER:
      return put_word(data, device_address(pointer));
    case POINTER_HOST_POINTER:
      if (range->kind == RANGE_MAPPED) {
        return put_word(data, range->host + (pointer->address - range->base));
      }
      if (!pointer->host && range->kind != RANGE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
      return put_word(data, pointer->address);
    case POINTER_SYNC_MEMOPS:
      return put_int(data, range->syncMemops);
    case POINTER_BUFFER_ID:
    case POINTER_MEMORY_BLOCK_ID:
      return put_word(data, range->id);
    case POINTER_IS_MANAGED:
      return put_bool(data, range->kind == RANGE_MANAGED);
    case POINTER_IS_LEGACY_IPC_CAPABLE:
      return put_bool(data, range->kind == RANGE_ALLOCATED);
    case POINTER_IS_RDMA_CAPABLE:
    case POINTER_IS_DECOMPRESS_CAPABLE:
      return put_bool(data, false);
    case POINTER_DEVICE_ORDINAL:
      return put_int(data, range->context->device);
    case POINTER_RANGE_START:
    case POINTER_MAPPING_BASE:
      return put_word(data, range->base);
    case POINTER_RANGE_SIZE:
    case POINTER_MAPPING_SIZE:
      return put_word(data, range->bytes);
    case POINTER_MAPPED:
      return put_bool(data, true);
    case POINTER_ALLOWED_HANDLE_TYPES:
      return put_word(data, handle_types(range));
    case POINTER_ACCESS_FLAGS:
      return put_int(data, ACCESS_READWRITE);
    case POINTER_MEMPOOL:
      return put_word(data, 0);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult shim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (!data || attribute < POINTER_CONTEXT || attribute > POINTER_IS_DECOMPRESS_CAPABLE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  struct pointer pointer = look_up(ptr);
  return pointer.known ? attribute_of(&pointer, attribute, data) : CUDA_ERROR_INVALID_VALUE;
}

/** The values of cuPointerGetAttributes for memory that is unknown to CUDA. */
static void attribute_of_nothing(CUpointer_attribute attribute, void *data) {
  switch (attribute) {
    case POINTER_DEVICE_ORDINAL:
      put_int(data, NO_DEVICE_ORDINAL);
      break;
    case POINTER_MEMORY_TYPE:
    case POINTER_SYNC_MEMOPS:
    case POINTER_ACCESS_FLAGS:
      put_int(data, 0);
      break;
    case POINTER_IS_MANAGED:
    case POINTER_IS_LEGACY_IPC_CAPABLE:
    case POINTER_IS_RDMA_CAPABLE:
    case POINTER_IS_DECOMPRESS_CAPABLE:
    case POINTER_MAPPED:
      put_bool(data, false);
      break;
    default:
      put_word(data, 0);
      break;
  }
}

CUresult shim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                     void **data, CUdeviceptr ptr) {
  if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
  struct pointer pointer = look_up(ptr);
  for (unsigned int i = 0; i < numAttributes; i++) {
    if (!data[i] || attributes[i] < POINTER_CONTEXT ||
        attributes[i] > POINTER_IS_DECOMPRESS_CAPABLE || attributes[i] == POINTER_P2P_TOKENS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!pointer.known || attribute_of(&pointer, attributes[i], data[i])) {
      attribute_of_nothing(attributes[i], data[i]);
    }
  }
  return CUDA_SUCCESS;
}

CUresult shim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                    CUdeviceptr ptr) {
  unsigned int wanted;
  if (!value || attribute != POINTER_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  memcpy(&wanted, value, sizeof wanted);
  bool known = ranges_set_sync(&deviceRanges, ptr, wanted != 0);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
