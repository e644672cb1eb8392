// SPDX-License-Identifier: Apache-2.0
// Virtual memory: each block is a file, mapped where addresses were reserved. Locations are {i32 type, i32 device}.
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULARITY = 64 << 10, MAX_MAPPINGS = 64 };

struct block {
  int file, device, handles, mappings;
  size_t size;
};

static struct mapping {
  Address address;
  size_t size;
  struct block *block;
  int access[MAX_DEVICES];
} mappings[MAX_MAPPINGS];

static void drop_block(struct block *block) {
  if (block->handles || block->mappings) return;
  close(block->file);
  free(block);
}

static struct mapping *mapping_at(Address address) {
  for (int i = 0; i < MAX_MAPPINGS; i++)
    if (mappings[i].block && address - mappings[i].address < mappings[i].size) return &mappings[i];
  return NULL;
}

Result cuMemGetAllocationGranularity(size_t *out, int *prop, int option) {
  *out = GRANULARITY;
  return prop[0] == 1 && prop[2] == 1 && option <= 1 ? SUCCESS : INVALID_VALUE;
}

Result cuMemAddressReserve(Address *out, size_t size, size_t alignment, Address wanted, unsigned long long flags) {
  if (!size || size % GRANULARITY || alignment > GRANULARITY || flags) return INVALID_VALUE;
  void *place = mmap((void *)wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *out = (Address)place;
  return place == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
}

Result cuMemAddressFree(Address address, size_t size) {
  count_call();
  return mapping_at(address) || munmap((void *)address, size) ? INVALID_VALUE : SUCCESS;
}

Result cuMemCreate(struct block **out, size_t size, int *prop, unsigned long long flags) {
  count_call();
  if (!size || size % GRANULARITY || prop[0] != 1 || prop[2] != 1 || flags) return INVALID_VALUE;
  *out = malloc(sizeof **out);
  **out = (struct block){.file = memfd_create("testcuda", 0), .device = prop[3], .handles = 1, .size = size};
  return ftruncate((*out)->file, (off_t)size) ? OUT_OF_MEMORY : SUCCESS;
}

Result cuMemRelease(struct block *block) {
  if (!block->handles) return INVALID_VALUE;
  block->handles--;
  drop_block(block);
  return SUCCESS;
}

Result cuMemRetainAllocationHandle(struct block **out, Address address) {
  struct mapping *mapping = mapping_at(address);
  if (!mapping) return INVALID_VALUE;
  mapping->block->handles++;
  *out = mapping->block;
  return SUCCESS;
}

Result cuMemMap(Address address, size_t size, size_t offset, struct block *block, unsigned long long flags) {
  count_call();
  struct mapping *mapping = mappings;
  while (mapping < mappings + MAX_MAPPINGS && mapping->block) mapping++;
  if (mapping == mappings + MAX_MAPPINGS || flags || offset || size > block->size || mapping_at(address))
    return INVALID_VALUE;
  if (mmap((void *)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, block->file, 0) == MAP_FAILED) return INVALID_VALUE;
  block->mappings++;
  *mapping = (struct mapping){.address = address, .size = size, .block = block};
  return SUCCESS;
}

static void note_memory(struct mapping *mapping, int there) {
  pthread_mutex_lock(&lock);
  struct allocation **a = &allocations;
  while (*a && (*a)->address != mapping->address) a = &(*a)->next;
  if (there && !*a) {
    *a = malloc(sizeof **a);
    **a = (struct allocation){mapping->address, mapping->size, mapping->block->device, NULL, NULL};
  } else if (!there && *a) {
    struct allocation *gone = *a;
    *a = gone->next;
    free(gone);
  }
  pthread_mutex_unlock(&lock);
}

Result cuMemUnmap(Address address, size_t size) {
  count_call();
  struct mapping *mapping = mapping_at(address);
  if (!mapping || mapping->address != address || mapping->size != size) return INVALID_VALUE;
  mmap((void *)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  note_memory(mapping, 0);
  mapping->block->mappings--;
  drop_block(mapping->block);
  mapping->block = NULL;
  return SUCCESS;
}

/* A description is a location and flags: 3 allows reads and writes. */
Result cuMemSetAccess(Address address, size_t size, int *description, size_t count) {
  count_call();
  struct mapping *mapping = mapping_at(address);
  if (!mapping || mapping->size != size || count != 1 || description[0] != 1) return INVALID_VALUE;
  mapping->access[description[1]] = description[2];
  mprotect((void *)address, size, description[2] == 3 ? PROT_READ | PROT_WRITE : PROT_NONE);
  note_memory(mapping, description[2] == 3);
  return SUCCESS;
}

Result cuMemGetAccess(unsigned long long *flags, int *location, Address address) {
  count_call();
  struct mapping *mapping = mapping_at(address);
  if (!mapping || location[0] != 1) return INVALID_VALUE;
  *flags = (unsigned long long)mapping->access[location[1]];
  return SUCCESS;
}
