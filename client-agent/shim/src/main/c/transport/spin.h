// SPDX-License-Identifier: Apache-2.0
// The manner in which a thread looks for an answer before it sleeps. It yields its processor between two looks; while
// others want the processor, it keeps it; and while such looks find nothing, it sleeps at once.
//
// A thread that yields costs nobody anything, but if others compute, the scheduler gives them a whole time slice,
// milliseconds. One that keeps its processor finds its answer in microseconds, unless the worker waits for this very
// processor.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Zeros are the spin of a thread that has never looked. Times are nanoseconds of the monotonic clock. */
struct spin {
  uint64_t looked, deadline;  // of the latest spin
  bool yields;                // it yields between two looks
  uint64_t yieldsFrom;        // until then, none yields
  uint32_t times;             // as many times as long as the processor was lost, none will
  uint64_t spinsFrom;         // until then, there are none that keep the processor
  uint32_t failures;          // of these that found nothing, less those that found something
};

/** Begins to look. */
void spin_begin(struct spin *spin, uint64_t now);

/** Returns whether to look again. */
static inline bool spin_goes_on(const struct spin *spin) { return spin->looked < spin->deadline; }

/** Waits a moment before the next look. */
void spin_pause(struct spin *spin);

/** Takes note of the time after a pause. */
void spin_paused(struct spin *spin, uint64_t now);

/** Ends a spin that has begun. */
void spin_end(struct spin *spin, bool found);
