// SPDX-License-Identifier: Apache-2.0
#include "memory/shared_host.h"

#include "core/fork.h"
#include "core/memory_file.h"
#include "core/ranges.h"
#include "ops.h"
#include "transport/connection.h"
#include "transport/descriptors.h"
#include "wire.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  LEAST_BYTES = 64 << 10,  // below that, copies through the call stream are as fast
};

/** Memory of the program; `context` is NULL where there is none. */
struct region {
  struct context *context;
  uint64_t base, bytes;
  _Atomic bool busy;
};

static struct region regions[SHARED_HOST_REGIONS];
static uint64_t totalBytes;

/** Regions by their addresses: `host` is the number. */
static struct ranges byAddress;

static struct lock changing;  // of the regions; held until the worker has taken the descriptor that was sent for one

static void shared_host_reset(void) {
  byAddress = (struct ranges){0};
  changing.word = 0;
  totalBytes = 0;
  for (uint32_t i = 0; i < SHARED_HOST_REGIONS; i++) regions[i].context = NULL;
}
ON_FORK(shared_host_reset);

static void forget(struct region *region) {
  ranges_remove(&byAddress, region->base, NULL);
  totalBytes -= region->bytes;
  region->context = NULL;
}

/** Ends the sharing of a context's regions, as the worker does; the memory stays the program's. */
static void shared_host_forget(struct context *context) {
  lock_take(&changing);
  for (uint32_t i = 0; i < SHARED_HOST_REGIONS; i++) {
    if (regions[i].context == context) forget(&regions[i]);
  }
  lock_release(&changing);
}
ON_CONTEXT_END(memory, shared_host_forget);

static int free_region(void) {
  for (int i = 0; i < SHARED_HOST_REGIONS; i++) {
    if (!regions[i].context) return i;
  }
  return -1;
}

/** Has the worker map a file. */
static bool share(struct context *context, int file, uint32_t number, void *memory, uint64_t bytes) {
  struct connection *connection = connection_of(context->number);
  if (!descriptor_send(connection->stream, file)) return false;
  // Where the connection broke in between, the worker has no descriptor, and says so.
  if (op_hostShare(context->number, number, bytes)) return false;
  struct range range = {.base = (uintptr_t)memory, .bytes = bytes, .host = number};
  if (!ranges_add(&byAddress, &range)) {
    op_hostUnshare(context->number, number);
    return false;
  }
  regions[number] = (struct region){.context = context, .base = (uintptr_t)memory, .bytes = bytes};
  totalBytes += bytes;
  return true;
}

/** Makes the memory that a file has, and has the worker map it, too; NULL if one of both fails. */
static void *map(struct context *context, int file, uint32_t number, uint64_t bytes) {
  if (ftruncate(file, (off_t)bytes) || !memory_file_seal(file, MEMORY_FILE_LENGTH)) return NULL;
  // Touched first by the program, all pages are its own in every account.
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (memory == MAP_FAILED) return NULL;
  if (share(context, file, number, memory, bytes)) return memory;
  munmap(memory, bytes);
  return NULL;
}

void *shared_host_allocate(struct context *context, uint64_t bytes) {
  if (bytes < LEAST_BYTES || !connection_of(context->number)->shared.on || !memory_file_may_have(bytes)) return NULL;
  void *memory = NULL;
  lock_take(&changing);
  int number = bytes <= SHARED_HOST_BYTES - totalBytes ? free_region() : -1;
  int file = number < 0 ? -1 : memory_file_make("gpupool-page-locked");
  if (file >= 0) {
    memory = map(context, file, (uint32_t)number, bytes);
    close(file);
  }
  lock_release(&changing);
  return memory;
}

void shared_host_end(const void *memory) {
  struct range range;
  if (ranges_empty(&byAddress)) return;
  lock_take(&changing);
  if (ranges_find(&byAddress, (uintptr_t)memory, &range)) {
    op_hostUnshare(regions[range.host].context->number, (uint32_t)range.host);
    forget(&regions[range.host]);
  }
  lock_release(&changing);
}

/** Finds the region around memory; NULL if there is none. */
static struct region *find(const void *memory, uint64_t bytes, struct shared_place *place) {
  struct range range;
  uint64_t address = (uintptr_t)memory;
  if (LIKELY(ranges_empty(&byAddress)) || !ranges_find(&byAddress, address, &range)) return NULL;
  if (bytes > range.base + range.bytes - address) return NULL;
  *place = (struct shared_place){.region = (uint32_t)range.host, .offset = address - range.base};
  return &regions[range.host];
}

bool shared_host_find(const struct context *context, const void *memory, uint64_t bytes, struct shared_place *place) {
  const struct region *region = find(memory, bytes, place);
  const struct context *owner = region ? region->context : NULL;
  return owner && connection_same(owner->number, context->number);
}

void shared_host_used(const struct shared_place *place) {
  atomic_store_explicit(&regions[place->region].busy, true, memory_order_relaxed);
}

bool shared_host_busy(const void *memory, uint64_t bytes) {
  struct shared_place place;
  const struct region *region = find(memory, bytes, &place);
  return region && atomic_load_explicit(&region->busy, memory_order_relaxed);
}

bool shared_host_settles(const void *memory, uint64_t bytes) {
  struct shared_place place;
  struct region *region = find(memory, bytes, &place);
  return region && atomic_exchange(&region->busy, false);
}
