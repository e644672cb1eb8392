// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The part of one wait for a turn in which a hard lease's own limit alone kept it from the GPU:
 * nobody else had it. Used by the thread that waits, which looks again and again.
 */
final class Throttling {
  private final SharedTurns turns;
  private final int lease;
  private boolean isThrottled;
  private long lookedAt;
  private long untilNanos;
  private long nanos;

  Throttling(SharedTurns turns, int lease) {
    this.turns = turns;
    this.lease = lease;
  }

  /** Counts the time since the last look, if the GPU was free then and is so now. */
  void look(long now) {
    boolean free = isFree(now);
    if (isThrottled && free) {
      nanos += Math.max(0, Math.min(now - lookedAt, untilNanos - lookedAt));
    }
    isThrottled = free && !FairShares.mayRun(turns, lease, now, 0);
    lookedAt = now;
    untilNanos = turns.notBefore(lease);
  }

  long nanos() {
    return nanos;
  }

  /** Whether it is no other lease's turn, or that of one that has no work any more. */
  private boolean isFree(long now) {
    int holder = SharedTurns.holder(turns.turn());
    return holder == FairShares.NOBODY || holder != lease && !turns.isActive(holder, now);
  }
}
