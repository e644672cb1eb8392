// SPDX-License-Identifier: Apache-2.0
/* The test driver's virtual memory, pools, peers, values in memory and linking; a part of testcuda.c. */
#pragma once

/* Virtual memory: a file a block, mapped where it was reserved. Locations are {i32 type, i32 device}. */

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

/* Descriptions are locations and flags: 3 is reading and writing. */
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

/* Pools that are made */

struct pool {
  int device;
  unsigned access;
  size_t most, used, reserved, threshold;
};

enum { FIRST_MADE = 0x1000, RELEASE_THRESHOLD = 4, RESERVED_NOW = 5 };

static int is_made(struct pool *pool) { return (uintptr_t)pool >= FIRST_MADE; }

/* What is not used is kept up to the threshold. */
static void pool_freed(struct pool *pool, size_t size) {
  pool->used -= size;
  size_t kept = pool->used > pool->threshold ? pool->used : pool->threshold;
  if (pool->reserved > kept) pool->reserved = kept;
}

Result cuMemPoolTrimTo(struct pool *pool, size_t keep) {
  pthread_mutex_lock(&lock);
  size_t kept = is_made(pool) && pool->used > keep ? pool->used : keep;
  if (is_made(pool) && pool->reserved > kept) pool->reserved = kept;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

/* What default pools have is not told of. */
Result cuMemPoolGetAttribute(struct pool *pool, int attribute, void *value) {
  uint64_t answer = (uint64_t)attribute * 100 + (uintptr_t)pool;
  pthread_mutex_lock(&lock);
  if (attribute == RESERVED_NOW) answer = is_made(pool) ? pool->reserved : 0;
  pthread_mutex_unlock(&lock);
  *(uint64_t *)value = answer;
  return SUCCESS;
}

Result cuMemPoolSetAttribute(struct pool *pool, int attribute, void *value) {
  if (is_made(pool) && attribute == RELEASE_THRESHOLD) pool->threshold = *(uint64_t *)value;
  return SUCCESS;
}

/* CUmemPoolProps: i32 type, i32 handle types, i32 location type, i32 device, pointer, u64 most bytes */
Result cuMemPoolCreate(struct pool **out, int *props) {
  count_call();
  if (props[0] != 1 || props[2] != 1) return INVALID_VALUE;
  *out = calloc(1, sizeof **out);
  **out = (struct pool){.device = props[3], .most = *(size_t *)(props + 6)};
  return check_device(props[3]);
}

Result cuMemPoolDestroy(struct pool *pool) { free(pool); return SUCCESS; }

Result cuMemPoolSetAccess(struct pool *pool, int *description, size_t count) {
  pool->access |= 1u << description[1];
  return count == 1 && description[0] == 1 ? SUCCESS : INVALID_VALUE;
}

Result cuMemAllocFromPoolAsync(Address *out, size_t size, struct pool *pool, struct stream *stream) {
  (void)stream;
  if (!is_made(pool)) return cuMemAlloc_v2(out, size);
  if (pool->most && size > pool->most - pool->used) return OUT_OF_MEMORY;
  Result result = cuMemAlloc_v2(out, size);
  if (result) return result;
  pthread_mutex_lock(&lock);
  allocations->pool = pool; /* the latest is the first */
  pool->used += size;
  if (pool->reserved < pool->used) pool->reserved = pool->used;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

/* Peers: all devices of each other */

Result cuDeviceCanAccessPeer(int *out, int device, int peer) {
  *out = device != peer;
  return check_device(device) ? INVALID_DEVICE : check_device(peer);
}

Result cuDeviceGetP2PAttribute(int *out, int attribute, int device, int peer) {
  *out = 10 * attribute + peer;
  return device == peer ? INVALID_VALUE : SUCCESS;
}

static struct context *peer_of[MAX_DEVICES];

Result cuCtxEnablePeerAccess(struct context *peer, unsigned flags) {
  if (flags || peer == current) return INVALID_VALUE;
  if (peer_of[current->device] == peer) return 704;
  peer_of[current->device] = peer;
  return usable();
}

Result cuCtxDisablePeerAccess(struct context *peer) {
  if (peer_of[current->device] != peer) return 705;
  peer_of[current->device] = NULL;
  return usable();
}

/* Values in memory. CUstreamBatchMemOpParams: i32 kind, u64 address, u64 value, u32 flags */

struct memory_operation {
  int kind;
  Address address;
  uint64_t value;
  unsigned flags;
  uint64_t rest[2];
};

enum { WAIT_32 = 1, WRITE_32 = 2 };

static void operate(struct op *op) {
  volatile uint32_t *word = (uint32_t *)op->a;
  if (op->c == WRITE_32) *word = (uint32_t)op->b;
  while (op->c == WAIT_32 && (int32_t)(*word - (uint32_t)op->b) < 0) usleep(100);
}

Result cuStreamBatchMemOp_v2(struct stream *stream, unsigned count, struct memory_operation *operations, unsigned flags) {
  count_call();
  Result result = usable();
  for (unsigned i = 0; i < count && !result; i++) {
    Address address = operations[i].address;
    if (flags || operations[i].flags) return INVALID_VALUE;
    if (!is_allocated(address, 4) && !is_pinned(address, 4)) return INVALID_VALUE;
    if (operations[i].kind != WAIT_32 && operations[i].kind != WRITE_32) return INVALID_VALUE;
    struct op *op = new_op(operate);
    op->a = operations[i].address;
    op->b = operations[i].value;
    op->c = (uint64_t)operations[i].kind;
    result = submit(stream, op);
  }
  return result;
}

/* Linking: the result is an image with the lines of all parts. */

struct link {
  char text[4096];
  char *log;
};

enum { LINK_INFO_LOG = 3 };

Result cuLinkCreate_v2(unsigned count, int *keys, void **values, struct link **out) {
  *out = calloc(1, sizeof **out);
  strcpy((*out)->text, "testcuda\n");
  for (unsigned i = 0; i < count; i++)
    if (keys[i] == LINK_INFO_LOG) (*out)->log = values[i];
  return usable();
}

Result cuLinkAddData_v2(struct link *link, int type, const char *data, size_t size, const char *name, unsigned count,
                        int *keys, void **values) {
  count_call();
  (void)type; (void)count; (void)keys; (void)values;
  if (size < 9 || strncmp(data, "testcuda\n", 9)) return INVALID_IMAGE;
  strncat(link->text, data + 9, size - 9);
  if (link->log) sprintf(link->log + strlen(link->log), "added %s;", name);
  return SUCCESS;
}

Result cuLinkComplete(struct link *link, void **out, size_t *size) {
  *out = link->text;
  *size = strlen(link->text) + 1;
  return SUCCESS;
}

Result cuLinkDestroy(struct link *link) { free(link); return SUCCESS; }
