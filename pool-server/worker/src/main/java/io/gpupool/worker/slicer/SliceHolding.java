// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.cuda.DriverTime.SliceState;
import java.util.concurrent.atomic.LongAdder;

/**
 * A session's part in holding its lease's time slice: it takes the slice, goes on with it, and
 * passes it to another lease. Any thread may call it.
 */
final class SliceHolding {
  /*
   * The time slice is one word of shared memory, and passes to another lease by compare-and-set: by
   * the holder when its time is over and others have work, else by a lease that waits when the
   * holder is no longer active. So a worker that dies or is stopped holds up the others for no
   * longer than the time for which it has marked itself active.
   *
   * Work that was submitted to a driver cannot be stopped. A session that has some says so in the
   * page, and its lease's time slice does not go to another while one of its sessions does. Such a
   * slice is charged by what the driver measured and not by its length, which includes the time
   * until a worker on a busy machine notices that its work is done. If two sessions of one lease
   * measure at once, they measure the same time, and each adds its part of it.
   */

  /** The time for which a session with work counts as active without a sign of life. */
  static final long LAPSE_NANOS = 100_000_000;

  private final SharedSchedule schedule;
  private final int lease;
  private final int session;
  private final StarvationGuard starvation;
  private final MeasuredOverlap overlap = new MeasuredOverlap();
  private final LongAdder measuredNanos = new LongAdder();

  /** The time slice under which threads run; 0 for none. */
  private volatile long slice;

  private volatile long untilNanos;

  /** Since when the lease has had the GPU, over time slices that follow each other. */
  private volatile long heldSince;

  /** The time at which the driver last measured work of this session. */
  private volatile long measuredAt;

  SliceHolding(SharedSchedule schedule, int lease, int session, StarvationGuard starvation) {
    this.schedule = schedule;
    this.lease = lease;
    this.session = session;
    this.starvation = starvation;
  }

  /** Returns whether the session holds a time slice whose time has not passed. */
  boolean isMine(long now) {
    return now - untilNanos < 0 && !isOver();
  }

  /** Returns whether the session holds no time slice, or one that is recalled. */
  boolean isOver() {
    long mine = slice;
    return mine == 0 || schedule.current() != mine || schedule.recall() == mine;
  }

  /** Returns the time of the driver's work as the driver measured it; 0 if it measured none. */
  long measuredNanos() {
    return measuredNanos.sum();
  }

  boolean isMeasured() {
    return measuredNanos.sum() > 0;
  }

  /** Adds time of the driver's work. */
  void addMeasured(long nanos) {
    measuredNanos.add(nanos);
    long now = System.nanoTime();
    measuredAt = now;
    overlap.look(schedule.othersUnderWay(lease, session, now));
    schedule.addMeasured(lease, overlap.partOf(nanos));
  }

  /** Returns whether another lease wants the GPU, may want it at once, or a limit holds. */
  boolean isContended(long now) {
    return schedule.isHard(lease)
        || schedule.othersActive(lease, now)
        || schedule.hasOtherLatencyLeases(lease);
  }

  /** Takes the time slice or goes on with it; returns false if another lease has it. */
  boolean take(long now) {
    schedule.markActive(lease, session, now + LAPSE_NANOS);
    while (true) {
      long current = schedule.current();
      int holder = SharedSchedule.holder(current);
      long held = Math.max(0, now - SharedSchedule.startNanos(current));
      if (holder == lease) {
        if (!isSpent(current, now)) {
          begin(current);
          return true;
        }
        held = uncharged(current, now);
      } else if (holder >= 0) {
        long until = schedule.activeUntil(holder, now);
        if (until - now > 0 && !isPausingFor(holder, held, until, now)) {
          return false;
        }
        held = Math.clamp(until - SharedSchedule.startNanos(current), 0, held);
      }
      int next = FairShares.next(schedule, now, holder, held);
      if (next == FairShares.NOBODY && holder == FairShares.NOBODY) {
        return false;
      }
      if (holder == lease && next != lease && schedule.othersUnderWay(lease, session, now) > 0) {
        return false;
      }
      long following = SharedSchedule.timeSliceOf(next, now);
      if (schedule.handOver(current, following)) {
        if (holder >= 0) {
          schedule.chargeTimeSlice(holder, held, now);
        }
        return serve(next, holder, following, now);
      }
    }
  }

  /** Returns whether the holder only pauses, and this lease preempts it. */
  private boolean isPausingFor(int holder, long heldNanos, long activeUntil, long now) {
    return activeUntil - now <= Pauses.MOST_NANOS
        && schedule.isLatency(lease)
        && FairShares.preempts(schedule, lease, holder, heldNanos)
        && FairShares.next(schedule, now, holder, heldNanos) == lease;
  }

  /** Lets the next lease run; returns whether it is this one. */
  private boolean serve(int next, int before, long following, long now) {
    if (next != FairShares.NOBODY) {
      schedule.serve(next, now);
    }
    if (next == lease) {
      begin(following);
      return true;
    }
    if (next >= 0 && next != before) {
      schedule.wake(next);
    }
    return false;
  }

  private void begin(long current) {
    heldSince = SharedSchedule.startNanos(current);
    adopt(current);
  }

  private void adopt(long current) {
    starvation.served();
    slice = current;
    untilNanos =
        SharedSchedule.startNanos(current) + FairShares.timeSliceNanos(schedule.weight(lease));
  }

  /** Returns whether more work may be submitted to the driver; begins the lease's next slice. */
  SliceState renew(long now) {
    overlap.look(schedule.othersUnderWay(lease, session, now));
    long current = schedule.current();
    if (SharedSchedule.holder(current) != lease) {
      return SliceState.ENDED;
    }
    if (isSpent(current, now)) {
      long held = uncharged(current, now);
      if (FairShares.next(schedule, now, lease, held) != lease) {
        return SliceState.ENDED;
      }
      long following = SharedSchedule.timeSliceOf(lease, now);
      if (!schedule.handOver(current, following)) {
        // Another session of the lease has gone on with it, or another lease has it: the next call
        // sees which.
        return SliceState.CONTENDED;
      }
      schedule.chargeTimeSlice(lease, held, now);
      schedule.serve(lease, now);
      current = following;
    }
    if (slice != current) {
      adopt(current);
    }
    return isContended(now) ? SliceState.CONTENDED : SliceState.UNCONTENDED;
  }

  /**
   * Returns whether the slice may pass on when work ends. One that was not measured is kept for the
   * next use, unless a lease waits that preempts this one.
   */
  boolean mayPass(long now) {
    long current = schedule.current();
    return isMeasured() ? isSpent(current, now) : isPreempted(current, now);
  }

  /** Passes a time slice that is over to another lease, if one has work. */
  void passOn(long now) {
    long current = schedule.current();
    if (SharedSchedule.holder(current) != lease
        || !isSpent(current, now)
        || schedule.othersUnderWay(lease, session, now) > 0) {
      return;
    }
    long held = uncharged(current, now);
    int next = FairShares.next(schedule, now, lease, held);
    long following = SharedSchedule.timeSliceOf(next, now);
    if (next >= 0 && next != lease && schedule.handOver(current, following)) {
      schedule.chargeTimeSlice(lease, held, now);
      boolean ignored = serve(next, lease, following, now);
    }
  }

  /**
   * Gives up a time slice that no lease wanted after this session's work had ended.
   *
   * @return the slice, which is yet to be charged; 0 if it is not given up
   */
  long giveUp(long idleSince, long now) {
    long mine = slice;
    if (mine == 0
        || schedule.current() != mine
        || schedule.isActive(lease, now)
        || !schedule.handOver(mine, SharedSchedule.timeSliceOf(FairShares.NOBODY, idleSince))) {
      return 0;
    }
    slice = 0;
    return mine;
  }

  /**
   * Returns how long this lease has had the GPU beyond what is charged. What is measured is charged
   * first: a kernel that was longer than several time slices counts before the next one begins.
   */
  private long uncharged(long current, long now) {
    if (!isMeasured()) {
      return Math.max(0, now - SharedSchedule.startNanos(current));
    }
    schedule.chargeMeasured(lease, now);
    return Math.max(0, Math.min(now - heldSince, now - measuredAt));
  }

  /** Returns whether the time of a slice has passed, or it is recalled. */
  private boolean isSpent(long current, long now) {
    long held = now - SharedSchedule.startNanos(current);
    return held >= FairShares.timeSliceNanos(schedule.weight(lease))
        || schedule.recall() == current && held >= FairShares.MIN_TIME_SLICE_NANOS
        || isPreempted(current, now);
  }

  /** Returns whether a slice is recalled for a lease that need not wait for its end. */
  private boolean isPreempted(long current, long now) {
    return schedule.recall() == current
        && SharedSchedule.holder(current) == lease
        && FairShares.mustYield(
            schedule, now, lease, Math.max(0, now - SharedSchedule.startNanos(current)));
  }
}
