// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Counts threads that use something, and the time in which there was one. Any thread may call. */
final class ActiveThreads {
  /** The answer of {@link #enter} if others are in already. */
  static final long NOT_IDLE = Long.MAX_VALUE;

  private static final int COUNT_BITS = 12;
  private static final long COUNT_MASK = (1 << COUNT_BITS) - 1;
  private static final int UNIT_BITS = 3;

  /**
   * The time at which the count last came to or from 0, in units of 8 ns since the start; then the
   * count.
   */
  private final AtomicLong state = new AtomicLong();

  private final LongAdder busyNanos = new LongAdder();
  private final long base = System.nanoTime();

  /** Counts one more; returns since when there was none, if there was none. */
  long enter(long now) {
    while (true) {
      long before = state.get();
      boolean first = (before & COUNT_MASK) == 0;
      long after = first ? at(now) | 1 : before + 1;
      if (state.compareAndSet(before, after)) {
        return first ? nanos(before) : NOT_IDLE;
      }
    }
  }

  /** Counts one less; returns whether it was the last. */
  boolean leave(long now) {
    while (true) {
      long before = state.get();
      boolean last = (before & COUNT_MASK) == 1;
      if (state.compareAndSet(before, last ? at(now) : before - 1)) {
        if (last) {
          busyNanos.add(Math.max(0, now - nanos(before)));
        }
        return last;
      }
    }
  }

  /** Returns whether there is one, and no more. */
  boolean isLast() {
    return (state.get() & COUNT_MASK) == 1;
  }

  long busyNanos(long now) {
    long current = state.get();
    boolean busy = (current & COUNT_MASK) != 0;
    return busyNanos.sum() + (busy ? Math.max(0, now - nanos(current)) : 0);
  }

  private long at(long now) {
    return now - base >> UNIT_BITS << COUNT_BITS;
  }

  private long nanos(long packed) {
    return (packed >> COUNT_BITS << UNIT_BITS) + base;
  }
}
