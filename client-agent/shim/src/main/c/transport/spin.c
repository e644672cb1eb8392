// SPDX-License-Identifier: Apache-2.0
#include "transport/spin.h"

#include "core/lock.h"
#include "core/log.h"

#include <sched.h>

enum {
  YIELDING_NANOS = 20000,        // the longest spin that yields,
  KEEPING_NANOS = 40000,         // and the longest one that keeps the processor
  LOST_NANOS = 100000,           // a longer pause means that others have computed meanwhile
  LEAST_TIMES = 4,               // as long as that, spins keep the processor,
  MOST_TIMES = 256,              // and twice as long each time that it happens again
  MOST_KEEPS_NANOS = 250000000,
  MOST_FAILURES = 4,             // before the thread sleeps at once; afterwards, one is enough
  SLEEPS_NANOS = 10000000,
};

void spin_begin(struct spin *spin, uint64_t now) {
  spin->looked = now;
  spin->yields = now >= spin->yieldsFrom;
  if (spin->yields) {
    spin->deadline = now + YIELDING_NANOS;
  } else {
    spin->deadline = now >= spin->spinsFrom ? now + KEEPING_NANOS : now;
  }
}

void spin_pause(struct spin *spin) {
  if (spin->yields) {
    sched_yield();
  } else {
    cpu_relax();
  }
  spin_paused(spin, now_nanos());
}

void spin_paused(struct spin *spin, uint64_t now) {
  uint64_t lost = now - spin->looked;
  if (spin->yields && lost > LOST_NANOS) {
    uint32_t times = spin->times > LEAST_TIMES ? spin->times : LEAST_TIMES;
    uint64_t keeps = times * lost;
    spin->yieldsFrom = now + (keeps < MOST_KEEPS_NANOS ? keeps : MOST_KEEPS_NANOS);
    spin->times = 2 * times < MOST_TIMES ? 2 * times : MOST_TIMES;
    spin->deadline = now;
  }
  spin->looked = now;
}

void spin_end(struct spin *spin, bool found) {
  if (spin->yields) {
    bool lost = spin->looked < spin->yieldsFrom;
    if (!lost) spin->times /= 2;
  } else if (found) {
    if (spin->failures) spin->failures--;
  } else if (spin->looked >= spin->spinsFrom && ++spin->failures == MOST_FAILURES) {
    spin->failures = MOST_FAILURES - 1;
    spin->spinsFrom = spin->looked + SLEEPS_NANOS;
  }
}
