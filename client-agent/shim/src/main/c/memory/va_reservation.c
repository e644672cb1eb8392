// SPDX-License-Identifier: Apache-2.0
#include "memory/va_reservation.h"

#include "core/fork.h"
#include "core/log.h"
#include "core/ranges.h"
#include "ops.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static struct ranges kept;  // of whole pages
static struct lock keeping;

static void va_reservations_reset(void) { kept.lock.word = keeping.word = 0; }

ON_FORK(va_reservations_reset);

static uint64_t page_begin(uint64_t address) { return address & -(uint64_t)sysconf(_SC_PAGESIZE); }

static uint64_t page_end(uint64_t address) {
  return page_begin(address + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static bool map(uint64_t base, uint64_t bytes, int protection, int fixed) {
  void *wanted = (void *)(uintptr_t)base;
  void *memory = mmap(wanted, bytes, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  // A kernel before 4.17 takes an address that is not to be replaced as a hint.
  if (memory != MAP_FAILED && memory != wanted) {
    munmap(memory, bytes);
    errno = EEXIST;
  }
  return memory == wanted;
}

/** Keeps pages of which none is kept. Addresses that no process can map need not be kept. */
static bool keep_pages(uint64_t base, uint64_t bytes) {
  if (!map(base, bytes, PROT_NONE, MAP_FIXED_NOREPLACE)) return errno != EEXIST;
  struct range range = {.base = base, .bytes = bytes}, before, after;
  if (ranges_find(&kept, base - 1, &before)) {
    range.base = before.base;
    range.bytes += before.bytes;
  }
  if (ranges_find(&kept, base + bytes, &after)) range.bytes += after.bytes;
  return ranges_add(&kept, &range);
}

bool va_reserve(uint64_t base, uint64_t bytes) {
  uint64_t at = page_begin(base), end = page_end(base + bytes);
  bool ours = true;
  lock_take(&keeping);
  while (ours && at < end) {
    struct range there;
    if (ranges_find(&kept, at, &there)) {
      at = there.base + there.bytes;
    } else {
      uint64_t next = ranges_next(&kept, at, end);
      ours = keep_pages(at, next - at);
      at = next;
    }
  }
  lock_release(&keeping);
  return ours;
}

bool va_allocate_again(struct misfits *misfits, uint64_t base, uint64_t bytes, CUresult *result) {
  if (*result || va_reserve(base, bytes)) return false;
  misfits->addresses[misfits->count++] = base;
  if (misfits->count < VA_ATTEMPTS) return true;
  log_line(LOG_WARN, "device memory lies where this program has memory of its own, however often it is"
                     " allocated (CUDA_ERROR_OUT_OF_MEMORY)");
  *result = CUDA_ERROR_OUT_OF_MEMORY;
  return false;
}

void va_misfits_free(struct misfits *misfits, struct context *context) {
  for (uint32_t i = 0; i < misfits->count; i++) op_memFree(context->number, misfits->addresses[i]);
}

/** Not so where this process may map no more. */
static bool is_kept(uint64_t base, uint64_t bytes) {
  struct range there;
  return ranges_find(&kept, base, &there) && base + bytes <= there.base + there.bytes;
}

bool va_make_accessible(uint64_t base, uint64_t bytes) {
  return va_reserve(base, bytes) && is_kept(base, bytes) &&
         map(base, bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
}

void va_make_inaccessible(uint64_t base, uint64_t bytes) { map(base, bytes, PROT_NONE, MAP_FIXED); }

void va_release(uint64_t base, uint64_t bytes) {
  struct range there;
  lock_take(&keeping);
  if (ranges_find(&kept, base, &there) && ranges_remove(&kept, there.base, NULL)) {
    uint64_t end = base + bytes, thereEnd = there.base + there.bytes;
    struct range left = {.base = there.base, .bytes = base - there.base};
    struct range right = {.base = end, .bytes = thereEnd - end};
    if (left.bytes) ranges_add(&kept, &left);
    if (right.bytes) ranges_add(&kept, &right);
  }
  lock_release(&keeping);
}
