// SPDX-License-Identifier: Apache-2.0
// Device memory: whole blocks of the card, mapped one after the other into this process, so that copies
// and fills are real. Small allocations share blocks.
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_BYTES = 1 << 20, ALIGNMENT = 512, PLACES = BLOCK_BYTES / ALIGNMENT };

/** The first address of variables of modules. */
#define VARIABLES (24ull << 40)

enum { SHIFTS = 4096 };

/** A block that small allocations share. */
struct slab {
  struct slab *next;
  uint32_t device;
  bool isOfVariables;
  struct blocks blocks;
  CUdeviceptr address;
  uint32_t used;                 // places
  uint16_t lengths[PLACES];      // of the allocation that begins here; else 0
  bool taken[PLACES];
};

static struct allocation *allocations;
static struct slab *slabs;

/** The length of the addresses of variables that were used. */
static uint64_t variableBytes;

// Blocks

bool blocks_take(uint32_t device, uint64_t bytes, struct blocks *blocks) {
  uint64_t count = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
  if (bytes > card_memory(gpus[device].card)) return false;
  *blocks = (struct blocks){.device = device, .count = (uint32_t)count, .numbers = calloc(count, sizeof(uint32_t))};
  if (card_take(gpus[device].card, blocks->count, blocks->numbers)) return true;
  free(blocks->numbers);
  return false;
}

void blocks_give(struct blocks *blocks) {
  card_give(gpus[blocks->device].card, blocks->count, blocks->numbers);
  free(blocks->numbers);
}

bool blocks_map(const struct blocks *blocks, uint32_t first, uint32_t count, CUdeviceptr address, int protection) {
  const struct card *card = gpus[blocks->device].card;
  for (uint32_t i = 0; i < count;) {
    uint32_t run = 1;
    while (i + run < count && blocks->numbers[first + i + run] == blocks->numbers[first + i] + run) run++;
    void *place = (void *)(uintptr_t)(address + (uint64_t)i * BLOCK_BYTES);
    if (mmap(place, (size_t)run * BLOCK_BYTES, protection, MAP_SHARED | MAP_FIXED, card_file(card),
             card_offset(card, blocks->numbers[first + i])) == MAP_FAILED) {
      return false;
    }
    i += run;
  }
  return true;
}

CUdeviceptr addresses_take(uint64_t bytes, uint64_t wanted) {
  // At a multiple of a block, as a driver's.
  char *place = mmap((void *)(uintptr_t)wanted, bytes + BLOCK_BYTES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return 0;
  uint64_t begin = (uint64_t)(uintptr_t)place;
  uint64_t address = (begin + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
  if (address > begin) munmap(place, address - begin);
  uint64_t end = begin + bytes + BLOCK_BYTES;
  if (end > address + bytes) munmap((void *)(uintptr_t)(address + bytes), end - address - bytes);
  return address;
}

void addresses_give(CUdeviceptr address, uint64_t bytes) { munmap((void *)(uintptr_t)address, bytes); }

static uint64_t whole_blocks(uint64_t bytes) { return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES; }

/** Addresses behind those of earlier variables: the same in each process, unless they are to differ. */
static CUdeviceptr next_variable(uint64_t bytes) {
  uint64_t shift = options.variables ? (uint64_t)(getpid() % SHIFTS + 1) * BLOCK_BYTES : 0;
  uint64_t before = variableBytes;
  variableBytes += bytes;
  return VARIABLES + shift + before;
}

/** Blocks, at addresses of this process. */
static bool take_mapped(uint32_t device, uint64_t bytes, bool isOfVariables, struct blocks *blocks,
                        CUdeviceptr *address) {
  if (!blocks_take(device, bytes, blocks)) return false;
  *address = addresses_take(whole_blocks(bytes), isOfVariables ? next_variable(whole_blocks(bytes)) : 0);
  if (*address && blocks_map(blocks, 0, blocks->count, *address, PROT_READ | PROT_WRITE)) return true;
  if (*address) addresses_give(*address, whole_blocks(bytes));
  blocks_give(blocks);
  return false;
}

// Small allocations

/** A run of free places in a slab, or PLACES. */
static uint32_t find_run(const struct slab *slab, uint32_t places) {
  uint32_t run = 0;
  for (uint32_t i = 0; i < PLACES && slab->used + places <= PLACES; i++) {
    run = slab->taken[i] ? 0 : run + 1;
    if (run == places) return i + 1 - places;
  }
  return PLACES;
}

static bool take_small(uint32_t device, uint64_t bytes, bool isOfVariables, CUdeviceptr *address) {
  uint32_t places = (uint32_t)((bytes + ALIGNMENT - 1) / ALIGNMENT), at = PLACES;
  struct slab *slab = slabs;
  for (; slab; slab = slab->next) {
    bool fits = slab->device == device && slab->isOfVariables == isOfVariables;
    if (fits && (at = find_run(slab, places)) < PLACES) break;
  }
  if (!slab) {
    slab = calloc(1, sizeof *slab);
    slab->device = device;
    slab->isOfVariables = isOfVariables;
    if (!take_mapped(device, BLOCK_BYTES, isOfVariables, &slab->blocks, &slab->address)) {
      free(slab);
      return false;
    }
    slab->next = slabs;
    slabs = slab;
    at = 0;
  }
  memset(slab->taken + at, true, places);
  slab->lengths[at] = (uint16_t)places;
  slab->used += places;
  *address = slab->address + (uint64_t)at * ALIGNMENT;
  return true;
}

static struct slab **find_slab(CUdeviceptr address) {
  struct slab **link = &slabs;
  while (address - (*link)->address >= BLOCK_BYTES) link = &(*link)->next;
  return link;
}

const struct blocks *memory_blocks(const struct allocation *allocation) {
  if (allocation->origin == ORIGIN_SMALL) return &(*find_slab(allocation->address))->blocks;
  return allocation->origin == ORIGIN_BLOCKS ? &allocation->blocks : NULL;
}

static void give_small(CUdeviceptr address) {
  struct slab **link = find_slab(address), *slab = *link;
  uint32_t at = (uint32_t)((address - slab->address) / ALIGNMENT), places = slab->lengths[at];
  memset(slab->taken + at, false, places);
  slab->lengths[at] = 0;
  slab->used -= places;
  if (slab->used) return;
  *link = slab->next;
  addresses_give(slab->address, BLOCK_BYTES);
  blocks_give(&slab->blocks);
  free(slab);
}

// Allocations

struct allocation *memory_find(CUdeviceptr address) {
  struct allocation *found = allocations;
  while (found && address - found->address >= found->bytes) found = found->next;
  return found;
}

bool memory_has(CUdeviceptr address, uint64_t bytes, uint32_t device, bool writing) {
  const struct allocation *found = memory_find(address);
  if (!found || found->origin != ORIGIN_MAPPED) return found && bytes <= found->address + found->bytes - address;
  while (found && found->origin == ORIGIN_MAPPED && virtual_allows(address, device, writing)) {
    uint64_t there = found->address + found->bytes - address;
    if (bytes <= there) return true;
    address += there;
    bytes -= there;
    found = memory_find(address);
  }
  return false;
}

struct allocation *memory_note(uint32_t device, CUdeviceptr address, uint64_t bytes, enum origin origin) {
  struct allocation *allocation = calloc(1, sizeof *allocation);
  *allocation = (struct allocation){
      .next = allocations, .device = device, .address = address, .bytes = bytes, .origin = origin};
  allocations = allocation;
  return allocation;
}

void memory_forget(struct allocation *allocation) {
  struct allocation **at = &allocations;
  while (*at != allocation) at = &(*at)->next;
  *at = allocation->next;
  free(allocation);
}

static CUresult allocate(uint32_t device, uint64_t bytes, bool isOfVariables, CUdeviceptr *address) {
  struct blocks blocks = {0};
  bool small = bytes <= SMALL_BYTES;
  bool taken = small ? take_small(device, bytes, isOfVariables, address)
                     : take_mapped(device, bytes, isOfVariables, &blocks, address);
  if (!taken) return CUDA_ERROR_OUT_OF_MEMORY;
  memory_note(device, *address, bytes, small ? ORIGIN_SMALL : ORIGIN_BLOCKS)->blocks = blocks;
  return CUDA_SUCCESS;
}

CUresult memory_allocate(uint32_t device, uint64_t bytes, CUdeviceptr *address) {
  return allocate(device, bytes, false, address);
}

CUresult memory_place(uint32_t device, uint64_t bytes, CUdeviceptr *address) {
  return allocate(device, bytes, true, address);
}

CUresult memory_free(CUdeviceptr address) {
  struct allocation *found = memory_find(address);
  if (!found || found->address != address || (found->origin != ORIGIN_SMALL && found->origin != ORIGIN_BLOCKS)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (found->pool) pool_forget(found);
  if (found->origin == ORIGIN_SMALL) {
    give_small(address);
  } else {
    addresses_give(address, whole_blocks(found->bytes));
    blocks_give(&found->blocks);
  }
  memory_forget(found);
  return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !bytes) result = CUDA_ERROR_INVALID_VALUE;
  return api_end(result ? result : memory_allocate(context->device, bytes, out));
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element) {
  if (!width || !height || (element != 4 && element != 8 && element != 16)) return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return cuMemAlloc_v2(out, *pitch * height);
}

/** Waits for all that runs, as the driver does. */
API CUresult cuMemFree_v2(CUdeviceptr address) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && address) {
    struct work *tail = context_tail(context);
    work_await(tail);
    work_drop(tail);
    result = memory_free(address);
  }
  return api_end(result);
}

/** Free and total memory of the whole card, which other processes use as well. */
API CUresult cuMemGetInfo_v2(size_t *freeBytes, size_t *total) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    *total = card_memory(gpus[context->device].card);
    *freeBytes = card_free_memory(gpus[context->device].card);
  }
  return api_end(result);
}

// Page-locked memory

API CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (!bytes || flags & ~7u)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result && posix_memalign(out, 4096, bytes)) result = CUDA_ERROR_OUT_OF_MEMORY;
  return api_end(result);
}

API CUresult cuMemFreeHost(void *memory) {
  free(memory);
  return CUDA_SUCCESS;
}

API CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && (!memory || !bytes || flags & ~15u)) result = CUDA_ERROR_INVALID_VALUE;
  return api_end(result);
}

API CUresult cuMemHostUnregister(void *memory) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result && !memory) result = CUDA_ERROR_INVALID_VALUE;
  return api_end(result);
}
