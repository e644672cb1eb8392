// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * Who of a GPU's leases has it next, and for how long: weighted fair queueing of turns. Pure
 * functions of what the leases had so far; times are nanoseconds of one clock.
 */
final class FairShares {
  /*
   * Start-time fair queueing (Goyal, Vin, Cheng 1996): a lease's virtual time advances by what it
   * used over its weight, and whoever is least advanced is next, so that those who always have work
   * get the GPU in proportion to their weights, however long their turns are in the end. Who comes
   * back from being idle starts where the others are, less a credit: what it missed in the last two
   * rounds it may make up for, which keeps programs at their share that wait for their results
   * between kernels; more it cannot save up.
   *
   * A hard lease may also have only so much of the time that passes: after a turn it waits until
   * its share of the time since then is what the turn took (as the virtual scheduling algorithm of
   * ATM's generic cell rate does).
   */

  /** In this time each of the leases that share a whole GPU has one turn. */
  static final long ROUND_NANOS = 16_000_000;

  /** The shortest turn, and how long it lasts before it may be asked back. */
  static final long MIN_TURN_NANOS = 1_000_000;

  /** How much of its missed time a lease may make up for, in time of the whole GPU. */
  static final long CREDIT_NANOS = 2 * ROUND_NANOS;

  /** The weight of a lease on a whole GPU. */
  static final int WHOLE = 10_000;

  static final int NOBODY = -1;

  private FairShares() {}

  /** The leases of a GPU. */
  interface Leases {
    /** Numbers of leases are below this. */
    int count();

    /** Hundredths of a percent; 0 where there is no lease of that number. May change any time. */
    long weight(int lease);

    boolean isHard(int lease);

    long virtualTime(int lease);

    /** When a hard lease may have its next turn. */
    long notBefore(int lease);

    /** Whether it has work, or had it just now. */
    boolean isActive(int lease, long nowNanos);

    /** The virtual time of the leases that were served last. */
    long virtualNow();
  }

  /** How long a turn is. */
  static long turnNanos(long weight) {
    return Math.clamp(ROUND_NANOS * weight / WHOLE, MIN_TURN_NANOS, ROUND_NANOS);
  }

  /** Virtual time after the use of some time. */
  static long virtualTime(long before, long virtualNow, long usedNanos, long weight) {
    return Math.max(before, virtualNow - CREDIT_NANOS) + usedNanos * WHOLE / Math.max(1, weight);
  }

  /** When a hard lease may have its next turn after the use of some time. */
  static long notBefore(long before, long nowNanos, long usedNanos, long weight) {
    long earliest = nowNanos - usedNanos - CREDIT_NANOS;
    return (before - earliest > 0 ? before : earliest) + usedNanos * WHOLE / Math.max(1, weight);
  }

  /**
   * Who has the next turn, or {@link #NOBODY}.
   *
   * @param holder whose turn it is now, with {@code heldNanos} that are not in the books yet
   */
  static int next(Leases leases, long nowNanos, int holder, long heldNanos) {
    int best = NOBODY;
    long least = Long.MAX_VALUE;
    int count = leases.count();
    for (int lease = 0; lease < count; lease++) {
      long weight = leases.weight(lease);
      if (weight > 0 && leases.isActive(lease, nowNanos)) {
        long held = lease == holder ? heldNanos : 0;
        long standing = standing(leases, lease, held);
        if (standing < least && mayRun(leases, lease, nowNanos, held)) {
          least = standing;
          best = lease;
        }
      }
    }
    return best;
  }

  /**
   * Whether a lease may ask the turn back from another: it is over, or the other is ahead by more
   * than it would be if both always had work.
   */
  static boolean asksBack(Leases leases, int lease, long nowNanos, int holder, long heldNanos) {
    if (heldNanos < MIN_TURN_NANOS || !mayRun(leases, lease, nowNanos, 0)) {
      return false;
    }
    long weight = leases.weight(holder);
    return weight == 0
        || heldNanos >= turnNanos(weight)
        || standing(leases, lease, 0) + ROUND_NANOS < standing(leases, holder, heldNanos);
  }

  /** Whether its share of the time allows a lease to have a turn. */
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
