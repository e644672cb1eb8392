// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The part of one wait for a time slice in which a hard lease's own limit alone kept it from the
 * GPU: nobody else had it. Used by the thread that waits, which looks again and again.
 */
final class Throttling {
  private final SharedSchedule schedule;
  private final int lease;
  private boolean isThrottled;
  private long lookedAt;
  private long untilNanos;
  private long nanos;

  Throttling(SharedSchedule schedule, int lease) {
    this.schedule = schedule;
    this.lease = lease;
  }

  /** Counts the time since the last look, if the GPU was free then and is so now. */
  void look(long now) {
    boolean free = isFree(now);
    if (isThrottled && free) {
      nanos += Math.max(0, Math.min(now - lookedAt, untilNanos - lookedAt));
    }
    isThrottled = free && !FairShares.mayRun(schedule, lease, now, 0);
    lookedAt = now;
    untilNanos = schedule.notBefore(lease);
  }

  long nanos() {
    return nanos;
  }

  /**
   * Returns whether it is no other lease's time slice, or that of one that has no work any more.
   */
  private boolean isFree(long now) {
    int holder = SharedSchedule.holder(schedule.current());
    return holder == FairShares.NOBODY || holder != lease && !schedule.isActive(holder, now);
  }
}
