// SPDX-License-Identifier: Apache-2.0
#include "transport/touch.h"

#include "core/log.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

// Newer than the C library's headers may be.
enum { POPULATE_WRITE = 23, COLLAPSE = 25 };

enum {
  WORTH_BYTES = 1 << 20,  // of a copy
  HUGE_PAGE_BYTES = 2 << 20,
  AHEAD_BYTES = 4 * HUGE_PAGE_BYTES,  // less than what a socket holds meanwhile
  SLOW_NANOS = 2000000,               // of a huge page, which elsewhere takes a tenth of this
};

/** Whether huge pages take longer than as many others. */
static _Atomic bool hugeIsSlow;

/** False: the kernel cannot, and each page is made when it is written. */
static bool advise(uintptr_t begin, uintptr_t end, int advice) {
  return madvise((void *)begin, end - begin, advice) == 0;
}

static bool is_untouched(uintptr_t page) {
  unsigned char resident;
  return mincore((void *)page, 1, &resident) == 0 && !(resident & 1);
}

/** Makes huge pages where there is nothing yet. */
static bool make_huge(uintptr_t begin, uintptr_t end, uintptr_t page) {
  if (atomic_load_explicit(&hugeIsSlow, memory_order_relaxed)) return false;
  uint64_t start = now_nanos();
  // The kernel collapses what has a page. Unlike advice to use huge pages, that leaves the mapping as it is.
  for (uintptr_t at = begin; at < end; at += HUGE_PAGE_BYTES) {
    if (!advise(at, at + page, POPULATE_WRITE)) return false;
  }
  bool made = advise(begin, end, COLLAPSE);
  // A virtual machine may have given long stretches of free memory back to its host, but not the many short ones.
  bool slow = (now_nanos() - start) / ((end - begin) / HUGE_PAGE_BYTES) > SLOW_NANOS;
  if (slow) atomic_store_explicit(&hugeIsSlow, true, memory_order_relaxed);
  return made;
}

static void make(uintptr_t begin, uintptr_t end) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  begin = (begin + page - 1) & ~(page - 1);
  end &= ~(page - 1);
  while (begin < end) {
    uintptr_t next = (begin / HUGE_PAGE_BYTES + 1) * HUGE_PAGE_BYTES;
    bool untouched = is_untouched(begin);
    if (next > end || begin % HUGE_PAGE_BYTES) {
      if (next > end) next = end;
      if (untouched) advise(begin, next, POPULATE_WRITE);
    } else if (untouched) {
      while (next + HUGE_PAGE_BYTES <= end && is_untouched(next)) next += HUGE_PAGE_BYTES;
      if (!make_huge(begin, next, page)) advise(begin, next, POPULATE_WRITE);
    }
    begin = next;
  }
}

void touch_ahead(struct call *copy, uint64_t until) {
  if (copy->destinationBytes < WORTH_BYTES || copy->rows.rowBytes || until <= copy->touchedBytes) return;
  uintptr_t destination = (uintptr_t)copy->destination, end = destination + copy->destinationBytes;
  uintptr_t begin = destination + copy->touchedBytes;
  uintptr_t limit = (destination + until + AHEAD_BYTES) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
  if (limit > end) limit = end;
  copy->touchedBytes = limit - destination;
  make(begin, limit);
}
