// SPDX-License-Identifier: Apache-2.0
// Virtual memory: blocks that the program maps where it has reserved addresses. Other processes take them
// by a descriptor of the card's file that says which blocks they are.
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KIND_PINNED = 1, LOCATION_DEVICE = 1, DESCRIPTOR = 1, ACCESS_READ = 1, ACCESS_BOTH = 3 };

/** CUmemAllocationProp, as far as it matters: i32 type, handle types, location type, device. */
struct properties {
  int type, handles, location, device;
};

struct piece {
  struct blocks blocks;
  bool isOpened;          // is another process's
  uint32_t handles, mappings;
};

struct mapping {
  struct mapping *next;
  CUdeviceptr address;
  uint64_t bytes;
  uint32_t first;         // of the piece's blocks
  struct piece *piece;
  int access[MAX_CARDS];
};

struct reservation {
  struct reservation *next;
  CUdeviceptr address;
  uint64_t bytes;
};

static struct mapping *mappings;
static struct reservation *reservations;

static void drop(struct piece *piece) {
  if (piece->handles || piece->mappings) return;
  if (piece->isOpened) free(piece->blocks.numbers); else blocks_give(&piece->blocks);
  free(piece);
}

static struct mapping *mapping_at(CUdeviceptr address) {
  struct mapping *found = mappings;
  while (found && address - found->address >= found->bytes) found = found->next;
  return found;
}

/** Returns whether a mapping lies in some addresses, as a whole or in part. */
static bool is_mapped(CUdeviceptr address, uint64_t bytes) {
  const struct mapping *found = mappings;
  while (found && (found->address >= address + bytes || found->address + found->bytes <= address)) found = found->next;
  return found;
}

/** Returns whether the program has reserved these addresses, and may map something there. */
static bool is_reserved(CUdeviceptr address, uint64_t bytes) {
  const struct reservation *found = reservations;
  while (found && address - found->address >= found->bytes) found = found->next;
  return found && bytes <= found->address + found->bytes - address;
}

bool virtual_allows(CUdeviceptr address, uint32_t device, bool writing) {
  const struct mapping *mapping = mapping_at(address);
  return mapping && (writing ? mapping->access[device] == ACCESS_BOTH : mapping->access[device]);
}

API CUresult cuMemGetAllocationGranularity(size_t *out, const struct properties *wanted, int option) {
  *out = BLOCK_BYTES;
  bool good = wanted->type == KIND_PINNED && wanted->location == LOCATION_DEVICE && option <= 1;
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** Reserves the addresses that are wanted, or others where those are taken. */
API CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                 unsigned long long flags) {
  bool good = bytes && bytes % BLOCK_BYTES == 0 && alignment <= BLOCK_BYTES && !(alignment & (alignment - 1)) &&
              wanted % BLOCK_BYTES == 0 && !flags;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&modelLock);
  CUdeviceptr address = addresses_take(bytes, options.hints ? wanted : 0);
  if (!address) return api_end(CUDA_ERROR_OUT_OF_MEMORY);
  struct reservation *reservation = calloc(1, sizeof *reservation);
  *reservation = (struct reservation){.next = reservations, .address = address, .bytes = bytes};
  reservations = reservation;
  *out = address;
  return api_end(CUDA_SUCCESS);
}

/** Gives back a whole reservation, in which nothing is mapped. */
API CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  pthread_mutex_lock(&modelLock);
  struct reservation **at = &reservations, *gone;
  while (*at && (*at)->address != address) at = &(*at)->next;
  gone = *at;
  if (!gone || gone->bytes != bytes || is_mapped(address, bytes)) return api_end(CUDA_ERROR_INVALID_VALUE);
  *at = gone->next;
  free(gone);
  addresses_give(address, bytes);
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemCreate(struct piece **out, size_t bytes, const struct properties *wanted,
                         unsigned long long flags) {
  CUresult result = api_begin_device(wanted->device);
  bool good = bytes && bytes % BLOCK_BYTES == 0 && wanted->type == KIND_PINNED &&
              wanted->location == LOCATION_DEVICE && !flags;
  if (!result && !good) result = CUDA_ERROR_INVALID_VALUE;
  if (!result && !gpus[wanted->device].card) result = CUDA_ERROR_INVALID_CONTEXT;
  if (result) return api_end(result);
  struct piece *piece = calloc(1, sizeof *piece);
  piece->handles = 1;
  if (blocks_take((uint32_t)wanted->device, bytes, &piece->blocks)) {
    *out = piece;
  } else {
    free(piece);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  return api_end(result);
}

API CUresult cuMemRelease(struct piece *piece) {
  pthread_mutex_lock(&modelLock);
  CUresult result = piece->handles ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    piece->handles--;
    drop(piece);
  }
  return api_end(result);
}

API CUresult cuMemRetainAllocationHandle(struct piece **out, CUdeviceptr address) {
  pthread_mutex_lock(&modelLock);
  struct mapping *mapping = mapping_at(address);
  if (mapping) {
    mapping->piece->handles++;
    *out = mapping->piece;
  }
  return api_end(mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, struct piece *piece,
                      unsigned long long flags) {
  pthread_mutex_lock(&modelLock);
  uint64_t all = (uint64_t)piece->blocks.count * BLOCK_BYTES;
  bool good = !flags && bytes && bytes % BLOCK_BYTES == 0 && offset % BLOCK_BYTES == 0 && offset <= all &&
              bytes <= all - offset && address % BLOCK_BYTES == 0 && is_reserved(address, bytes) &&
              !is_mapped(address, bytes);
  if (!good) return api_end(CUDA_ERROR_INVALID_VALUE);
  struct mapping *mapping = calloc(1, sizeof *mapping);
  *mapping = (struct mapping){.next = mappings,
                              .address = address,
                              .bytes = bytes,
                              .first = (uint32_t)(offset / BLOCK_BYTES),
                              .piece = piece};
  mappings = mapping;
  piece->mappings++;
  return api_end(CUDA_SUCCESS);
}

static void hide(struct mapping *mapping) {
  struct allocation *allocation = memory_find(mapping->address);
  if (allocation && allocation->origin == ORIGIN_MAPPED) memory_forget(allocation);
  mmap((void *)(uintptr_t)mapping->address, mapping->bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static struct mapping **mapping_from(CUdeviceptr address) {
  struct mapping **at = &mappings;
  while (*at && (*at)->address != address) at = &(*at)->next;
  return at;
}

static void unmap(struct mapping **at) {
  struct mapping *mapping = *at;
  hide(mapping);
  *at = mapping->next;
  mapping->piece->mappings--;
  drop(mapping->piece);
  free(mapping);
}

/** Whole mappings, one behind the other. */
API CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  pthread_mutex_lock(&modelLock);
  CUdeviceptr end = address;
  for (struct mapping *mapping; end - address < bytes && (mapping = *mapping_from(end));) end += mapping->bytes;
  if (!bytes || end - address != bytes) return api_end(CUDA_ERROR_INVALID_VALUE);
  while (address < end) {
    struct mapping **at = mapping_from(address);
    address += (*at)->bytes;
    unmap(at);
  }
  return api_end(CUDA_SUCCESS);
}

static bool may_anybody(const struct mapping *mapping) {
  for (uint32_t device = 0; device < options.gpus; device++) {
    if (mapping->access[device]) return true;
  }
  return false;
}

/** Returns whether all of some addresses are mapped. */
static bool is_all_mapped(CUdeviceptr address, uint64_t bytes) {
  const struct mapping *mapping = mapping_at(address);
  CUdeviceptr end = address + bytes;
  while (mapping && mapping->address + mapping->bytes < end) mapping = mapping_at(mapping->address + mapping->bytes);
  return mapping;
}

/** Descriptions are {i32 location type, i32 device, i32 flags}. Mappings have an access as a whole. */
API CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const int *description, size_t count) {
  pthread_mutex_lock(&modelLock);
  bool good = bytes && address % BLOCK_BYTES == 0 && bytes % BLOCK_BYTES == 0 && count == 1 &&
              description[0] == LOCATION_DEVICE && (uint32_t)description[1] < options.gpus &&
              is_all_mapped(address, bytes);
  if (!good) return api_end(CUDA_ERROR_INVALID_VALUE);
  struct mapping *mapping;
  for (uint64_t at = address; at < address + bytes; at = mapping->address + mapping->bytes) {
    mapping = mapping_at(at);
    mapping->access[description[1]] = description[2];
    if (!may_anybody(mapping)) {
      hide(mapping);
    } else if (!memory_find(mapping->address)) {
      const struct blocks *blocks = &mapping->piece->blocks;
      uint32_t blockCount = (uint32_t)(mapping->bytes / BLOCK_BYTES);
      if (!blocks_map(blocks, mapping->first, blockCount, mapping->address, PROT_READ | PROT_WRITE)) {
        return api_end(CUDA_ERROR_OUT_OF_MEMORY);
      }
      memory_note(blocks->device, mapping->address, mapping->bytes, ORIGIN_MAPPED);
    }
  }
  return api_end(CUDA_SUCCESS);
}

API CUresult cuMemGetAccess(unsigned long long *flags, const int *location, CUdeviceptr address) {
  pthread_mutex_lock(&modelLock);
  struct mapping *mapping = mapping_at(address);
  bool good = mapping && location[0] == LOCATION_DEVICE && (uint32_t)location[1] < options.gpus;
  if (good) *flags = (unsigned long long)mapping->access[location[1]];
  return api_end(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

// Other processes: a descriptor of a file, no memfd, that lists the blocks

struct exported {
  char card[NAME_BYTES];
  uint32_t device, count;
};

API CUresult cuMemExportToShareableHandle(int *descriptor, struct piece *piece, int type, unsigned long long flags) {
  if (type != DESCRIPTOR || flags) return CUDA_ERROR_INVALID_VALUE;
  char path[] = "/dev/shm/gpupool-model-piece-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  unlink(path);
  struct exported head = {.device = piece->blocks.device, .count = piece->blocks.count};
  strcpy(head.card, options.name);
  size_t bytes = head.count * sizeof *piece->blocks.numbers;
  bool written = write(file, &head, sizeof head) == sizeof head &&
                 write(file, piece->blocks.numbers, bytes) == (ssize_t)bytes;
  if (!written) close(file); else *descriptor = file;
  return written ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuMemImportFromShareableHandle(struct piece **out, void *descriptor, int type) {
  struct exported head;
  int file = (int)(intptr_t)descriptor;
  bool good = type == DESCRIPTOR && pread(file, &head, sizeof head, 0) == sizeof head &&
              !strcmp(head.card, options.name) && head.device < options.gpus && gpus[head.device].card;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  struct piece *piece = calloc(1, sizeof *piece);
  size_t bytes = head.count * sizeof *piece->blocks.numbers;
  *piece = (struct piece){.isOpened = true, .handles = 1};
  piece->blocks = (struct blocks){.device = head.device, .count = head.count, .numbers = malloc(bytes + 1)};
  if (pread(file, piece->blocks.numbers, bytes, sizeof head) != (ssize_t)bytes) {
    free(piece->blocks.numbers);
    free(piece);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = piece;
  return CUDA_SUCCESS;
}
