// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.wire.ScheduleSlot;
import io.gpupool.worker.os.ServerFile;
import java.io.IOException;

/**
 * A session's part in the time slices of a GPU: its threads run in its lease's time slices, and
 * wait in those of others. Any thread may call it.
 */
public final class GpuTimeSlice implements SessionTimeSlice {
  /*
   * A time slice is not given up when a kernel ends but a moment later (Pauses), or programs that
   * wait for each of their kernels would lose their time slice with each. That moment is charged if
   * another lease waited for it; a holder that comes back later to find that nobody did is charged
   * for its work alone.
   *
   * A latency lease that has credit (FairShares) gets the time slice as soon as it can: the holder
   * looks at the recall at once, does not keep the slice in a pause, and on a driver's GPU has no
   * more under way than it can give up soon, even while no request is there.
   *
   * Other tenants' workers write to the page, too: whatever is in it, nothing here fails or waits
   * without end (StarvationGuard).
   */
  private final SharedSchedule schedule;
  private final int lease;
  private final int session;
  private final ActiveThreads threads = new ActiveThreads();
  private final Pauses pauses = new Pauses();
  private final StarvationGuard starvation;
  private final SliceHolding holding;
  private final SliceWaits waits;

  /** The part of the present pause that is charged. */
  private volatile long pauseCharged;

  GpuTimeSlice(SharedSchedule schedule, int lease, int session) {
    this(schedule, lease, session, StarvationGuard.PATIENCE_NANOS);
  }

  GpuTimeSlice(SharedSchedule schedule, int lease, int session, long patienceNanos) {
    this.schedule = schedule;
    this.lease = lease;
    this.session = session;
    starvation = new StarvationGuard(threads, patienceNanos);
    holding = new SliceHolding(schedule, lease, session, starvation);
    waits = new SliceWaits(schedule, lease, threads, holding, starvation);
  }

  /**
   * Joins in the time slices of a page: those of the leases of a GPU, or of the programs of a
   * lease.
   *
   * @param file the pool-server's, of pages
   * @throws IOException if there is no such page
   */
  public static GpuTimeSlice join(ServerFile file, ScheduleSlot slot) throws IOException {
    return new GpuTimeSlice(SharedSchedule.open(file, slot.page()), slot.entry(), slot.session());
  }

  @Override
  public long usedNanos() {
    long measured = holding.measuredNanos();
    return measured == 0 ? threads.busyNanos(System.nanoTime()) : measured;
  }

  @Override
  public long waitedNanos() {
    return waits.waitedNanos();
  }

  @Override
  public long throttledNanos() {
    return waits.throttledNanos();
  }

  @Override
  public long begin(Use use, long nowNanos) {
    long idleSince = threads.enter(nowNanos);
    if (idleSince != ActiveThreads.NOT_IDLE) {
      endPause(idleSince, nowNanos);
    }
    if (starvation.isAlone() || holding.isMine(nowNanos) || holding.take(nowNanos)) {
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
    return !starvation.isAlone() && holding.isOver();
  }

  @Override
  public long pass(Use use) {
    long now = System.nanoTime();
    if (starvation.isAlone() || holding.isMine(now) || holding.take(now)) {
      return 0;
    }
    // A use that is not wanted any more goes on, to its end.
    boolean ignored = await(use, now, false);
    return System.nanoTime() - now;
  }

  private boolean await(Use use, long since, boolean bounded) {
    waits.begin();
    leave(since);
    return waits.await(use, since, bounded);
  }

  private void leave(long now) {
    // The page has it before the count does: a thread that enters at a count of 0 then writes to
    // the
    // page later, and has the last word.
    boolean ending = threads.isLast() && !waits.areAny();
    boolean passing = ending && holding.mayPass(now);
    if (passing) {
      schedule.markActive(lease, session, now);
    } else if (ending) {
      schedule.markActive(lease, session, now + pauses.graceNanos());
      beginPause(now);
    }
    boolean last = threads.leave(now);
    if (passing && last) {
      holding.passOn(now);
    }
    if (ending && (!last || waits.areAny())) {
      // Others came meanwhile, and may have written to the page before the lines above did.
      schedule.markActive(lease, session, now + SliceHolding.LAPSE_NANOS);
    }
  }

  /** Charges a measured slice for the pause in advance, because another may end the slice. */
  private void beginPause(long now) {
    long grace = pauses.graceNanos();
    if (holding.isMeasured() && schedule.othersActive(lease, now)) {
      pauseCharged = grace;
      schedule.addMeasured(lease, grace);
    }
  }

  private void endPause(long idleSince, long now) {
    long pause = now - idleSince;
    boolean givenUp = pause > pauses.graceNanos() && giveUp(idleSince, now);
    settlePause(givenUp ? 0 : pause, now);
    pauses.note(pause);
    schedule.markActive(lease, session, now + SliceHolding.LAPSE_NANOS);
  }

  /** Ends a time slice that no lease wanted after this session's work had ended. */
  private boolean giveUp(long idleSince, long now) {
    long slice = holding.giveUp(idleSince, now);
    if (slice == 0) {
      return false;
    }
    settlePause(0, now);
    schedule.chargeTimeSlice(lease, idleSince - SharedSchedule.startNanos(slice), idleSince);
    return true;
  }

  /** Corrects the charge for a pause that has ended. */
  private void settlePause(long pauseNanos, long now) {
    long charged = pauseCharged;
    if (charged == 0) {
      return;
    }
    pauseCharged = 0;
    if (pauseNanos == 0 || holding.isMine(now)) {
      schedule.addMeasured(lease, pauseNanos - charged);
    }
  }

  @Override
  public SliceState renew(long now) {
    schedule.markActive(lease, session, now + SliceHolding.LAPSE_NANOS);
    schedule.markUnderWay(lease, session, now + SliceHolding.LAPSE_NANOS);
    return starvation.isAlone() ? SliceState.UNCONTENDED : holding.renew(now);
  }

  /** Returns whether another lease wants the GPU, may want it at once, or a limit holds. */
  boolean isContended(long now) {
    return holding.isContended(now);
  }

  @Override
  public void workFinished() {
    schedule.markUnderWay(lease, session, 0);
  }

  @Override
  public void addMeasured(long nanos) {
    holding.addMeasured(nanos);
  }
}
