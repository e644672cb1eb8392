// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/**
 * Operations that were submitted one after the other, with an event before the first and one behind
 * the last in each stream. Guarded by its gate.
 */
final class Batch {
  private static final int MAX_STREAMS = 8;
  private static final int MAX_COSTS = 16;

  final long context;
  final long openedNanos;

  private final long[] streams = new long[MAX_STREAMS];
  private final long[] ends = new long[MAX_STREAMS];
  private final Cost[] costs = new Cost[MAX_COSTS];
  private final int[] counts = new int[MAX_COSTS];
  private long start;
  private int streamCount;
  private int costCount;
  private int operations;
  private long expectedNanos;
  private long submittedNanos;
  private boolean failed;

  Batch(long context, long nowNanos) {
    this.context = context;
    openedNanos = nowNanos;
    submittedNanos = nowNanos;
  }

  int operations() {
    return operations;
  }

  long expectedNanos() {
    return expectedNanos;
  }

  /** Returns whether an operation can be added. */
  boolean takes(long streamContext, long stream, Cost cost) {
    return streamContext == context
        && (touches(stream) || streamCount < MAX_STREAMS)
        && (indexOf(cost) >= 0 || costCount < MAX_COSTS);
  }

  boolean touches(long stream) {
    for (int i = 0; i < streamCount; i++) {
      if (streams[i] == stream) {
        return true;
      }
    }
    return false;
  }

  /** Adds an operation that {@link #takes} allows. */
  void add(TimingEvents events, long stream, Cost cost, long nanos) {
    if (!touches(stream)) {
      if (streamCount == 0) {
        start = events.record(context, stream);
      }
      streams[streamCount++] = stream;
    }
    int index = indexOf(cost);
    if (index < 0) {
      index = costCount++;
      costs[index] = cost;
    }
    counts[index]++;
    operations++;
    expectedNanos += nanos;
  }

  /** Adds operations like one that was added. */
  void addMore(Cost cost, int count) {
    counts[indexOf(cost)] += count;
    operations += count;
    expectedNanos += count * cost.nanosOr(0);
  }

  /** Notes that one of its operations was not submitted after all. */
  void fail() {
    failed = true;
  }

  /** Records the events behind it; nothing is added from now on. */
  void close(TimingEvents events, long nowNanos) {
    long before = events.select(context);
    for (int i = 0; i < streamCount; i++) {
      ends[i] = events.record(context, streams[i]);
    }
    long ignored = events.select(before);
    submittedNanos = nowNanos;
  }

  boolean isReached(TimingEvents events) {
    for (int i = 0; i < streamCount; i++) {
      if (ends[i] != TimingEvents.NONE && !events.isReached(ends[i])) {
        return false;
      }
    }
    return true;
  }

  /**
   * The event that was reached last, once all are; {@link TimingEvents#NONE} if it is not known.
   */
  long lastEnd(TimingEvents events) {
    long last = ends[0];
    for (int i = 1; i < streamCount; i++) {
      if (last == TimingEvents.NONE || ends[i] == TimingEvents.NONE) {
        return TimingEvents.NONE;
      }
      if (events.elapsedNanos(last, ends[i]) > 0) {
        last = ends[i];
      }
    }
    return last;
  }

  /**
   * Returns the time from its beginning to its last end; the expected time if that is not known.
   */
  long elapsedNanos(TimingEvents events, long end) {
    long elapsed =
        start == TimingEvents.NONE || end == TimingEvents.NONE
            ? -1
            : events.elapsedNanos(start, end);
    return elapsed < 0 ? expectedNanos : elapsed;
  }

  /** Returns whether the GPU waited for the program between its operations. */
  boolean isStarved(long elapsedNanos) {
    return operations > 1 && submittedNanos - openedNanos > elapsedNanos / 2;
  }

  /** Learns what its operations cost. */
  void learn(long elapsedNanos) {
    if (failed || start == TimingEvents.NONE) {
      return;
    }
    double known = 0;
    int unknown = 0;
    for (int i = 0; i < costCount; i++) {
      if (costs[i].isKnown()) {
        known += (double) costs[i].nanosOr(0) * counts[i];
      } else {
        unknown += counts[i];
      }
    }
    if (costCount == 1) {
      learnOne((double) elapsedNanos / operations, isStarved(elapsedNanos));
    } else if (unknown > 0) {
      for (int i = 0; i < costCount; i++) {
        if (!costs[i].isKnown()) {
          costs[i].learn(Math.max(0, elapsedNanos - known) / unknown);
        }
      }
    } else if (known > 0 && (elapsedNanos < known || !isStarved(elapsedNanos))) {
      for (int i = 0; i < costCount; i++) {
        costs[i].learnRatio(elapsedNanos / known);
      }
    }
  }

  private void learnOne(double nanos, boolean starved) {
    if (starved) {
      costs[0].learnAtMost(nanos);
    } else {
      costs[0].learn(nanos);
    }
  }

  /** Gives its events back but one. */
  void release(TimingEvents events, long kept) {
    if (start != TimingEvents.NONE) {
      events.release(context, start);
    }
    for (int i = 0; i < streamCount; i++) {
      if (ends[i] != TimingEvents.NONE && ends[i] != kept) {
        events.release(context, ends[i]);
      }
    }
  }

  private int indexOf(Cost cost) {
    for (int i = 0; i < costCount; i++) {
      if (costs[i] == cost) {
        return i;
      }
    }
    return -1;
  }
}
