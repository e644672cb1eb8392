// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The choice of the lease that has a GPU next, and for how long: weighted fair queueing of time
 * slices. Pure functions of what the leases had so far; times are nanoseconds of one clock.
 */
final class FairShares {
  /*
   * Start-time fair queueing (Goyal, Vin, Cheng 1996): a lease's virtual time advances by its use
   * over its weight, and the lease that is least advanced is next. So leases that always have work
   * get the GPU in proportion to their weights, however long their time slices are in the end. A
   * lease that returns from being idle starts where the others are, less a credit: it may make up
   * for the time that it missed in the last two rounds. This keeps programs at their share that wait
   * for their results between kernels; more cannot be saved up.
   *
   * A hard lease is also limited to its share of the time that passes: after a time slice it waits
   * until its share of the time since then equals the slice (as the virtual scheduling algorithm of
   * ATM's generic cell rate does).
   *
   * A latency lease serves requests: it has work now and then, and somebody waits for the result.
   * While it has credit, which is while its virtual time is not above that of the lease that was
   * served last, it goes before all leases that have none, and recalls their time slices at once. It
   * pays like any other, and such slices do not advance the virtual time of the GPU. So a latency
   * lease that uses less than its share, pauses included, always has credit; one that wants more has
   * its share and the time that it may make up for, then stands in line.
   */

  /** The time in which each of the leases that share a whole GPU has one time slice. */
  static final long ROUND_NANOS = 16_000_000;

  /** The shortest time slice, and the time for which a slice lasts before it may be recalled. */
  static final long MIN_TIME_SLICE_NANOS = 1_000_000;

  /** The missed time that a lease may make up for, in time of the whole GPU. */
  static final long CREDIT_NANOS = 2 * ROUND_NANOS;

  /** The weight of a lease on a whole GPU. */
  static final int WHOLE = 10_000;

  static final int NOBODY = -1;

  private FairShares() {}

  /** The leases of a GPU. */
  interface Leases {
    /** Returns a number above those of all leases. */
    int count();

    /**
     * Returns hundredths of a percent; 0 where there is no lease of that number. May change any
     * time.
     */
    long weight(int lease);

    boolean isHard(int lease);

    /** Returns whether it serves requests, and so goes first while it has credit. */
    boolean isLatency(int lease);

    long virtualTime(int lease);

    /** Returns when a hard lease may have its next time slice. */
    long notBefore(int lease);

    /** Returns whether it has work, or had it just now. */
    boolean isActive(int lease, long nowNanos);

    /** Returns the virtual time of the leases that were served last. */
    long virtualNow();
  }

  /** Returns the length of a time slice. */
  static long timeSliceNanos(long weight) {
    return Math.clamp(ROUND_NANOS * weight / WHOLE, MIN_TIME_SLICE_NANOS, ROUND_NANOS);
  }

  /** Returns the virtual time after the use of some time. */
  static long virtualTime(long before, long virtualNow, long usedNanos, long weight) {
    return Math.max(before, virtualNow - CREDIT_NANOS) + usedNanos * WHOLE / Math.max(1, weight);
  }

  /** Returns when a hard lease may have its next time slice after the use of some time. */
  static long notBefore(long before, long nowNanos, long usedNanos, long weight) {
    long earliest = nowNanos - usedNanos - CREDIT_NANOS;
    return (before - earliest > 0 ? before : earliest) + usedNanos * WHOLE / Math.max(1, weight);
  }

  /**
   * Returns the lease that has the next time slice, or {@link #NOBODY}.
   *
   * @param holder the lease that has the slice now, with {@code heldNanos} that are not charged yet
   */
  static int next(Leases leases, long nowNanos, int holder, long heldNanos) {
    int best = NOBODY;
    long least = Long.MAX_VALUE;
    boolean bestHasPriority = false;
    int count = leases.count();
    for (int lease = 0; lease < count; lease++) {
      long weight = leases.weight(lease);
      if (weight > 0 && leases.isActive(lease, nowNanos)) {
        long held = lease == holder ? heldNanos : 0;
        long standing = standing(leases, lease, held);
        boolean priority = hasPriority(leases, lease, standing);
        boolean better = priority == bestHasPriority ? standing < least : priority;
        if (better && mayRun(leases, lease, nowNanos, held)) {
          least = standing;
          best = lease;
          bestHasPriority = priority;
        }
      }
    }
    return best;
  }

  /**
   * Returns whether a lease may recall another's time slice: it goes before the other, the time
   * slice is over, or the other is ahead by more than it would be if both always had work.
   */
  static boolean mayRecall(Leases leases, int lease, long nowNanos, int holder, long heldNanos) {
    if (!mayRun(leases, lease, nowNanos, 0)) {
      return false;
    }
    if (preempts(leases, lease, holder, heldNanos)) {
      return true;
    }
    if (heldNanos < MIN_TIME_SLICE_NANOS) {
      return false;
    }
    long weight = leases.weight(holder);
    return weight == 0
        || heldNanos >= timeSliceNanos(weight)
        || standing(leases, lease, 0) + ROUND_NANOS < standing(leases, holder, heldNanos);
  }

  /** Returns whether a lease does not have to wait for the end of another's time slice. */
  static boolean preempts(Leases leases, int lease, int holder, long heldNanos) {
    return hasPriority(leases, lease, standing(leases, lease, 0))
        && !hasPriority(leases, holder, standing(leases, holder, heldNanos));
  }

  /**
   * Returns whether one has work that does not have to wait for the end of the holder's time slice.
   */
  static boolean mustYield(Leases leases, long nowNanos, int holder, long heldNanos) {
    int next = next(leases, nowNanos, holder, heldNanos);
    return next >= 0 && next != holder && preempts(leases, next, holder, heldNanos);
  }

  private static boolean hasPriority(Leases leases, int lease, long standing) {
    return leases.isLatency(lease) && standing <= leases.virtualNow();
  }

  /** Returns whether its share of the time allows a lease to have a time slice. */
  static boolean mayRun(Leases leases, int lease, long nowNanos, long heldNanos) {
    if (!leases.isHard(lease)) {
      return true;
    }
    long notBefore = leases.notBefore(lease);
    long then =
        heldNanos > 0 ? notBefore(notBefore, nowNanos, heldNanos, leases.weight(lease)) : notBefore;
    return then - nowNanos <= 0;
  }

  private static long standing(Leases leases, int lease, long heldNanos) {
    return virtualTime(
        leases.virtualTime(lease), leases.virtualNow(), heldNanos, leases.weight(lease));
  }
}
