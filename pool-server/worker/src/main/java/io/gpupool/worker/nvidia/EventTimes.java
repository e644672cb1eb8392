// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The times of events that were recorded where the session was before: an event of this driver that
 * nobody has recorded counts as reached, and its time is known from here. Any thread may use it.
 */
final class EventTimes {
  private static final double NANOS_PER_MILLI = 1e6;

  private final NvidiaEvents driver;

  @GuardedBy("this")
  private final Map<Long, Earlier> earlier = new HashMap<>();

  /** Those that nodes of graphs record. */
  @GuardedBy("this")
  private final Set<Long> ofGraphs = new HashSet<>();

  /**
   * A record before a session was made again.
   *
   * @param anchor an event of the context, recorded then
   * @param nanos from the anchor; negative
   */
  private record Earlier(long context, long anchor, double nanos) {}

  EventTimes(NvidiaEvents driver) {
    this.driver = driver;
  }

  /** An event is recorded again, or destroyed. */
  synchronized void forget(long event) {
    earlier.remove(event);
  }

  synchronized void destroyed(long event) {
    earlier.remove(event);
    ofGraphs.remove(event);
  }

  /** An event is recorded whenever a graph is launched. */
  synchronized void recordedByGraph(long event) {
    ofGraphs.add(event);
  }

  /** Some graph is launched, which may record any of those. */
  synchronized void graphLaunched() {
    earlier.keySet().removeAll(ofGraphs);
  }

  synchronized void contextEnded(long context) {
    earlier.values().removeIf(one -> one.context == context);
  }

  /** Writes the milliseconds between two events, as cuEventElapsedTime does; a CUresult. */
  synchronized int elapsed(long out, long start, long end) {
    if (!earlier.containsKey(start) && !earlier.containsKey(end)) {
      return driver.measure(out, start, end);
    }
    Earlier first = earlier.getOrDefault(start, new Earlier(0, start, 0));
    Earlier last = earlier.getOrDefault(end, new Earlier(0, end, 0));
    int result =
        first.anchor == last.anchor ? put(out, 0) : driver.measure(out, first.anchor, last.anchor);
    double measured = Float.intBitsToFloat(Memory.getInt(out));
    return result == 0 ? put(out, measured + (last.nanos - first.nanos) / NANOS_PER_MILLI) : result;
  }

  private static int put(long out, double millis) {
    Memory.putInt(out, Float.floatToIntBits((float) millis));
    return 0;
  }

  /**
   * Returns the nanoseconds from each record to a time. They are exact between records that follow
   * each other, since those are what programs ask about.
   */
  synchronized long[] ages(long context, long[] events, long nowNanos) {
    long[] ages = new long[events.length];
    Arrays.fill(ages, Relocation.NO_AGE);
    long before = driver.currentContext();
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(Long.BYTES, Long.BYTES).address();
      int ignored = driver.cuCtxSetCurrent(context);
      long mark = mark(out);
      if (mark == 0) {
        return ages;
      }
      long sinceNow = System.nanoTime() - nowNanos;
      for (int i = 0; i < events.length; i++) {
        if (elapsed(out, events[i], mark) == 0) {
          ages[i] = nanos(out) - sinceNow;
        }
      }
      refine(out, events, ages);
      ignored = driver.cuEventDestroy_v2(mark);
    } finally {
      int ignored = driver.cuCtxSetCurrent(before);
    }
    return ages;
  }

  private void refine(long out, long[] events, long[] ages) {
    int[] newestFirst =
        IntStream.range(0, events.length)
            .filter(i -> ages[i] != Relocation.NO_AGE)
            .boxed()
            .sorted(Comparator.comparingLong(i -> ages[i]))
            .mapToInt(Integer::intValue)
            .toArray();
    for (int i = 1; i < newestFirst.length; i++) {
      int younger = newestFirst[i - 1];
      int older = newestFirst[i];
      if (elapsed(out, events[older], events[younger]) == 0) {
        ages[older] = ages[younger] + nanos(out);
      }
    }
  }

  private static long nanos(long out) {
    return Math.round(Float.intBitsToFloat(Memory.getInt(out)) * NANOS_PER_MILLI);
  }

  /** Makes an event that is recorded now; 0 if that cannot be. */
  private long mark(long out) {
    if (driver.cuEventCreate(out, 0) != 0) {
      return 0;
    }
    long mark = Memory.getLong(out);
    if (driver.recordEvent(mark, 0) != 0 || driver.cuEventSynchronize(mark) != 0) {
      int ignored = driver.cuEventDestroy_v2(mark);
      return 0;
    }
    return mark;
  }

  /** Makes events ones that were recorded so long before a time. */
  synchronized void setAges(long context, long[] events, long[] agesNanos, long nowNanos) {
    if (events.length == 0) {
      return;
    }
    long before = driver.currentContext();
    try (Arena arena = Arena.ofConfined()) {
      int ignored = driver.cuCtxSetCurrent(context);
      long anchor = mark(arena.allocate(Long.BYTES, Long.BYTES).address());
      long sinceNow = System.nanoTime() - nowNanos;
      for (int i = 0; i < events.length; i++) {
        earlier.put(events[i], new Earlier(context, anchor, -(double) (agesNanos[i] + sinceNow)));
      }
    } finally {
      int ignored = driver.cuCtxSetCurrent(before);
    }
  }
}
