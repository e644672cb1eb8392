// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.wire.ScheduleSlot;
import io.gpupool.worker.os.ServerFile;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * This session's part in the time slices of a GPU: its threads run while it is its lease's time
 * slice, and wait while it is another's. Any thread may call it.
 */
public final class GpuTimeSlice implements SessionTimeSlice {
  /*
   * The time slice is one word of shared memory, and whoever finds that it may go to another lease passes
   * it on by compare-and-set: the holder, when its time is over and others have work; else one who
   * waits, when the holder is not active any more. So no worker that dies or is stopped holds up the
   * others for longer than the time for which it has said that it is active.
   *
   * A time slice is not given back when a kernel ends but a moment later (Pauses), or programs that wait
   * for each of their kernels would lose their time slice with each. That moment is charged if another
   * waited for it; a holder that comes back later to find that nobody did is charged for its work
   * alone.
   *
   * Work that was submitted to a driver cannot be stopped. A session that has some says so in the
   * page, and its lease's time slice does not go to another while one of its sessions does. Such a time slice is
   * charged by what the driver measured, not by how long it lasted: that includes the time until a
   * worker on a busy machine notices that its work is done. What two sessions of one lease measure at
   * the same time is the same time: each adds its part of it.
   *
   * To a latency lease that has credit (FairShares) a time slice goes as soon as it can: whoever holds it
   * looks at the recall at once, does not keep it in a pause, and on a driver's GPU has no more under
   * way than it can give up soon, even while no request is there.
   *
   * Other tenants' workers write to the page, too: whatever is in it, nothing here fails or waits for
   * ever (StarvationGuard).
   */

  /** For so long a session that has work counts as active without a sign of life. */
  static final long LAPSE_NANOS = 100_000_000;

  /** How long a thread waits before it looks for other devices' work. */
  private static final long BOUND_NANOS = 4_000_000;

  private static final long LOOK_SOON_NANOS = 100_000;
  private static final long LOOK_NANOS = 500_000;
  private static final long LOOK_SELDOM_NANOS = 2_000_000;
  private static final long LOOK_LAST_NANOS = 20_000_000;

  /** A hundredth of a GPU: no lease has less. */
  private static final long LEAST_WEIGHT = 100;

  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  private final SharedSchedule schedule;
  private final int lease;
  private final int session;
  private final ActiveThreads threads = new ActiveThreads();
  private final Pauses pauses = new Pauses();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicBoolean watched = new AtomicBoolean();
  private final LongAdder waitedNanos = new LongAdder();
  private final LongAdder throttledNanos = new LongAdder();
  private final LongAdder measuredNanos = new LongAdder();
  private final StarvationGuard starvation;
  private final MeasuredOverlap overlap = new MeasuredOverlap();

  /** The time slice under which threads run; 0 for none. */
  private volatile long slice;

  private volatile long untilNanos;

  /** Since when the lease has had the GPU, over time slices that follow each other. */
  private volatile long heldSince;

  /** When the driver last measured work of this session. */
  private volatile long measuredAt;

  /** What this session had used when its time slice began. */
  private volatile long usedBeforeNanos;

  /** What is charged of the pause that lasts. */
  private volatile long pauseCharged;

  GpuTimeSlice(SharedSchedule schedule, int lease, int session) {
    this(schedule, lease, session, StarvationGuard.PATIENCE_NANOS);
  }

  GpuTimeSlice(SharedSchedule schedule, int lease, int session, long patienceNanos) {
    this.schedule = schedule;
    this.lease = lease;
    this.session = session;
    starvation = new StarvationGuard(patienceNanos);
  }

  /**
   * Joins in the time slices of a page: those of the leases of a GPU, or of the programs of a
   * lease.
   *
   * @param file the pool-server's, of pages
   * @throws IOException if there is no such page
   */
  public static GpuTimeSlice join(ServerFile file, ScheduleSlot place) throws IOException {
    return new GpuTimeSlice(
        SharedSchedule.open(file, place.page()), place.entry(), place.session());
  }

  @Override
  public long usedNanos() {
    long measured = measuredNanos.sum();
    return measured == 0 ? threads.busyNanos(System.nanoTime()) : measured;
  }

  @Override
  public long waitedNanos() {
    return waitedNanos.sum();
  }

  @Override
  public long throttledNanos() {
    return throttledNanos.sum();
  }

  @Override
  public long begin(Use use, long nowNanos) {
    long idleSince = threads.enter(nowNanos);
    if (idleSince != ActiveThreads.NOT_IDLE) {
      boolean givenBack =
          nowNanos - idleSince > pauses.graceNanos() && giveBack(idleSince, nowNanos);
      settlePause(givenBack ? 0 : nowNanos - idleSince, nowNanos);
      pauses.note(nowNanos - idleSince);
      schedule.activeUntil(lease, session, nowNanos + LAPSE_NANOS);
    }
    if (starvation.isAlone() || isMine(nowNanos) || take(nowNanos)) {
      return nowNanos;
    }
    if (await(use, nowNanos, true)) {
      return System.nanoTime();
    }
    leave(System.nanoTime());
    return NOT_NOW;
  }

  @Override
  public void end(long nowNanos) {
    leave(nowNanos);
  }

  @Override
  public boolean isOver() {
    if (starvation.isAlone()) {
      return false;
    }
    long mine = slice;
    return mine == 0 || schedule.current() != mine || schedule.recall() == mine;
  }

  @Override
  public long pass(Use use) {
    long now = System.nanoTime();
    if (starvation.isAlone() || isMine(now) || take(now)) {
      return 0;
    }
    // A use that is not wanted any more goes on, to its end.
    boolean ignored = await(use, now, false);
    return System.nanoTime() - now;
  }

  private boolean isMine(long now) {
    return now - untilNanos < 0 && !isOver();
  }

  private void leave(long now) {
    // Said before the count says so: who comes to a count of 0 then says more, and has the last
    // word.
    boolean ending = threads.isLast() && waiting.get() == 0;
    boolean passing = ending && mayPass(schedule.current(), now);
    if (passing) {
      schedule.activeUntil(lease, session, now);
    } else if (ending) {
      schedule.activeUntil(lease, session, now + pauses.graceNanos());
      beginPause(now);
    }
    boolean last = threads.leave(now);
    if (passing && last) {
      passOn(now);
    }
    if (ending && (!last || waiting.get() > 0)) {
      // Others came meanwhile, and may have said so before the line above did.
      schedule.activeUntil(lease, session, now + LAPSE_NANOS);
    }
  }

  /**
   * A time slice that was not measured is kept for the next use, unless one waits that goes before.
   */
  private boolean mayPass(long current, long now) {
    return isMeasured() ? isSpent(current, now) : isRecalledBefore(current, now);
  }

  private boolean isMeasured() {
    return measuredNanos.sum() > 0;
  }

  /** Gives a time slice that is over to another lease, if one has work. */
  private void passOn(long now) {
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
      boolean ignored = given(next, lease, following, now);
    }
  }

  /** Ends a time slice that nobody wanted after this session's work had ended. */
  private boolean giveBack(long idleSince, long now) {
    long mine = slice;
    if (mine == 0 || schedule.current() != mine || schedule.isActive(lease, now)) {
      return false;
    }
    if (!schedule.handOver(mine, SharedSchedule.timeSliceOf(FairShares.NOBODY, idleSince))) {
      return false;
    }
    slice = 0;
    settlePause(0, now);
    schedule.chargeTimeSlice(lease, idleSince - SharedSchedule.startNanos(mine), idleSince);
    return true;
  }

  /**
   * Of measured time slices: the pause is charged in advance, for another may end the time slice.
   */
  private void beginPause(long now) {
    long grace = pauses.graceNanos();
    if (isMeasured() && schedule.othersActive(lease, now)) {
      pauseCharged = grace;
      schedule.addMeasured(lease, grace);
    }
  }

  /** A pause has ended; what was charged too much of it, or too little, is made good. */
  private void settlePause(long pauseNanos, long now) {
    long charged = pauseCharged;
    if (charged == 0) {
      return;
    }
    pauseCharged = 0;
    if (pauseNanos == 0 || isMine(now)) {
      schedule.addMeasured(lease, pauseNanos - charged);
    }
  }

  @Override
  public SliceState renew(long now) {
    schedule.activeUntil(lease, session, now + LAPSE_NANOS);
    schedule.underWay(lease, session, now + LAPSE_NANOS);
    if (starvation.isAlone()) {
      return SliceState.UNCONTENDED;
    }
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
        // Another session of the lease has gone on with it, or another lease has it: seen next
        // time.
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

  /** Whether another wants the GPU, may want it at once, or a limit holds. */
  boolean isContended(long now) {
    return schedule.isHard(lease)
        || schedule.othersActive(lease, now)
        || schedule.hasOtherLatencyLeases(lease);
  }

  @Override
  public void workFinished() {
    schedule.underWay(lease, session, 0);
  }

  @Override
  public void addMeasured(long nanos) {
    measuredNanos.add(nanos);
    measuredAt = System.nanoTime();
    overlap.look(schedule.othersUnderWay(lease, session, System.nanoTime()));
    schedule.addMeasured(lease, overlap.partOf(nanos));
  }

  /**
   * How long this lease has had the GPU beyond what is in the books. What is measured goes there
   * first: a kernel that was longer than several time slices counts before the next one begins.
   */
  private long uncharged(long current, long now) {
    if (!isMeasured()) {
      return Math.max(0, now - SharedSchedule.startNanos(current));
    }
    schedule.chargeMeasured(lease, now);
    return Math.max(0, Math.min(now - heldSince, now - measuredAt));
  }

  /** Whether a time slice is over, or is to be given back. */
  private boolean isSpent(long current, long now) {
    long held = now - SharedSchedule.startNanos(current);
    return held >= FairShares.timeSliceNanos(schedule.weight(lease))
        || schedule.recall() == current && held >= FairShares.MIN_TIME_SLICE_NANOS
        || isRecalledBefore(current, now);
  }

  /** Whether a time slice is recalled for a lease that need not wait for its end. */
  private boolean isRecalledBefore(long current, long now) {
    return schedule.recall() == current
        && SharedSchedule.holder(current) == lease
        && FairShares.mustYield(
            schedule, now, lease, Math.max(0, now - SharedSchedule.startNanos(current)));
  }

  /**
   * Goes on with the time slice or takes it, if it is this lease's; else sees that somebody has it.
   */
  private boolean take(long now) {
    schedule.activeUntil(lease, session, now + LAPSE_NANOS);
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
        return given(next, holder, following, now);
      }
    }
  }

  /**
   * Whether the holder only keeps its time slice for work to come, and this lease goes before it.
   */
  private boolean isPausingFor(int holder, long heldNanos, long activeUntil, long now) {
    return activeUntil - now <= Pauses.MOST_NANOS
        && schedule.isLatency(lease)
        && FairShares.preempts(schedule, lease, holder, heldNanos)
        && FairShares.next(schedule, now, holder, heldNanos) == lease;
  }

  private boolean given(int next, int before, long following, long now) {
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
    usedBeforeNanos = threads.busyNanos(System.nanoTime());
    untilNanos =
        SharedSchedule.startNanos(current) + FairShares.timeSliceNanos(schedule.weight(lease));
  }

  /**
   * Waits for the lease's time slice. The thread is no user meanwhile, and is one again afterwards.
   *
   * @return whether it is the lease's time slice; if not, the use is not wanted, or the bound is
   *     reached
   */
  private boolean await(Use use, long since, boolean bounded) {
    waiting.incrementAndGet();
    leave(since);
    boolean watching = false;
    long watchedSince = since;
    Throttling throttling = new Throttling(schedule, lease);
    try {
      while (true) {
        int wakes = schedule.wakeCount(lease);
        long now = System.nanoTime();
        if (watching) {
          throttling.look(now);
        }
        if (take(now) || starvation.isAlone() || starvation.isStarved(now, owedNanos(now))) {
          return true;
        }
        if (!use.isWanted() || bounded && now - since > BOUND_NANOS) {
          return false;
        }
        if (!watching && watched.compareAndSet(false, true)) {
          watching = true;
          watchedSince = now;
          throttling.look(now);
        }
        schedule.awaitWake(lease, wakes, watching ? watch(now) : LOOK_LAST_NANOS);
      }
    } finally {
      long now = System.nanoTime();
      long ignored = threads.enter(now);
      if (watching) {
        waitedNanos.add(now - watchedSince);
        schedule.addWaited(lease, now - watchedSince);
        throttledNanos.add(throttling.nanos());
        schedule.addThrottled(lease, throttling.nanos());
        watched.set(false);
      }
      if (waiting.decrementAndGet() > 0 && watching) {
        // One of them has to watch now, or they too have their time slice.
        schedule.wake(lease);
      }
    }
  }

  /** What a hard lease may have to wait for this session's last time slice, and as much again. */
  private long owedNanos(long now) {
    long used = Math.clamp(threads.busyNanos(now) - usedBeforeNanos, 0, AN_HOUR_NANOS);
    long weight = Math.max(LEAST_WEIGHT, schedule.weight(lease));
    return schedule.isHard(lease) ? 2 * used * FairShares.WHOLE / weight : 0;
  }

  /** Asks the time slice back if it may; says when to look again. */
  private long watch(long now) {
    long current = schedule.current();
    int holder = SharedSchedule.holder(current);
    if (!FairShares.mayRun(schedule, lease, now, 0)) {
      return Math.clamp(schedule.notBefore(lease) - now, LOOK_NANOS / 10, LOOK_LAST_NANOS);
    }
    if (holder < 0 || holder == lease) {
      return LOOK_NANOS / 10;
    }
    long held = Math.max(0, now - SharedSchedule.startNanos(current));
    if (FairShares.mayRecall(schedule, lease, now, holder, held)) {
      schedule.recall(current);
    }
    if (schedule.isLatency(lease) && FairShares.preempts(schedule, lease, holder, held)) {
      return LOOK_SOON_NANOS;
    }
    boolean isNext = FairShares.next(schedule, now, holder, AN_HOUR_NANOS) == lease;
    long look = isNext ? LOOK_NANOS : LOOK_SELDOM_NANOS;
    long rest = FairShares.timeSliceNanos(schedule.weight(holder)) - held;
    long pause = Math.max(schedule.activeUntil(holder, now) - now, LOOK_NANOS / 10);
    return Math.min(pause, rest > 0 ? Math.min(rest, look) : look);
  }
}
