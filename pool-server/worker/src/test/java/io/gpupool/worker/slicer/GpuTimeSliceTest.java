// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.gpupool.cuda.DriverTime;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class GpuTimeSliceTest {
  private static final long MILLI = 1_000_000;
  private static final long PIECE_NANOS = 50_000;
  private static final long WINDOW_NANOS = 300 * MILLI;
  private static final int WINDOWS = 20;
  private static final double TOLERANCE = 0.08;
  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  private final MemorySegment page = Arena.ofAuto().allocate(SchedulePage.BYTES, 64);
  private final SharedSchedule schedule = new SharedSchedule(page);
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;
  private final LongAdder asked = new LongAdder();

  @AfterEach
  void stop() throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private GpuTimeSlice session(int lease, int session, int weight, boolean hard) {
    put(SchedulePage.LEASES, Math.max(lease + 1, schedule.count()));
    put(SchedulePage.leaseWord(lease, SchedulePage.HARD), hard ? 1 : 0);
    put(SchedulePage.leaseWord(lease, SchedulePage.SESSIONS), session + 1);
    put(SchedulePage.leaseWord(lease, SchedulePage.WEIGHT), weight);
    return new GpuTimeSlice(schedule, lease, session);
  }

  private void put(int at, long value) {
    page.set(JAVA_LONG, at, value);
  }

  private long usedNanos(int lease) {
    return page.get(JAVA_LONG, SchedulePage.leaseWord(lease, SchedulePage.USED));
  }

  /** A thread that always has work, and looks up after each piece of it. */
  private void keepBusy(GpuTimeSlice slice) {
    threads.add(
        Thread.ofPlatform()
            .start(() -> {
              DeviceTime.Use use =
                  () -> {
                    asked.increment();
                    return !stopped;
                  };
              while (!stopped) {
                if (slice.begin(use, System.nanoTime()) != DeviceTime.NOT_NOW) {
                  for (int piece = 0; piece < 20 && !stopped; piece++) {
                    work();
                    long held = slice.pass(use);
                    assertThat(held).isNotNegative();
                  }
                  slice.end(System.nanoTime());
                }
              }
            }));
  }

  private static void work() {
    long start = System.nanoTime();
    while (System.nanoTime() - start < PIECE_NANOS) {
      Thread.onSpinWait();
    }
  }

  private void awaitUsed(long nanos) throws InterruptedException {
    while (usedNanos(0) + usedNanos(1) < nanos) {
      Thread.sleep(5);
    }
  }

  /**
   * The share of the first lease in the window of time in which it is closest to what is expected:
   * the machine may take processors away in any of them, but not in all.
   */
  private double shareNear(double expected) throws InterruptedException {
    double closest = 0;
    for (int i = 0; i < WINDOWS && Math.abs(closest - expected) > TOLERANCE; i++) {
      long first = usedNanos(0);
      long both = first + usedNanos(1);
      awaitUsed(both + WINDOW_NANOS);
      long firstNow = usedNanos(0);
      double share = (double) (firstNow - first) / (firstNow + usedNanos(1) - both);
      closest = Math.abs(share - expected) < Math.abs(closest - expected) ? share : closest;
    }
    return closest;
  }

  @Test
  void slices_twoAlwaysBusy_areByWeight() throws InterruptedException {
    keepBusy(session(0, 0, 7000, false));
    keepBusy(session(1, 0, 3000, false));
    // By turns it would be 0.5.
    assertThat(shareNear(0.7)).isCloseTo(0.7, within(TOLERANCE));
  }

  @Test
  void slices_severalThreadsOfALease_countOnce() throws InterruptedException {
    GpuTimeSlice flooding = session(0, 0, 5000, false);
    for (int i = 0; i < 4; i++) {
      keepBusy(flooding);
    }
    GpuTimeSlice other = session(1, 0, 5000, false);
    keepBusy(other);
    // If each thread counted, it would be 0.8.
    assertThat(shareNear(0.5)).isCloseTo(0.5, within(TOLERANCE));
    assertThat(flooding.waitedNanos()).isPositive();
    assertThat(other.usedNanos()).isPositive();
  }

  @Test
  void slices_hardAlone_takesAsLongAsItsShareSays() throws InterruptedException {
    long start = System.nanoTime();
    keepBusy(session(0, 0, 3000, true));
    awaitUsed(120 * MILLI);
    // Time beyond a slice is paid before the next one.
    long used = usedNanos(0);
    awaitUsed(used + 1);
    // Up to two rounds are on credit, and a time slice may be on its way.
    long least = (used - 5 * MILLI) * 10 / 3 - 3 * FairShares.ROUND_NANOS;
    assertThat(System.nanoTime() - start).isGreaterThan(least);
  }

  @Test
  void throttledNanos_ofAHardLeaseThatIsAlone_areAboutAllThatItWaited()
      throws InterruptedException {
    GpuTimeSlice slice = session(0, 0, 1000, true);
    keepBusy(slice);
    awaitUsed(20 * MILLI);
    stop();
    assertThat(slice.throttledNanos()).isBetween(slice.waitedNanos() / 2, slice.waitedNanos());
    assertThat(slice.throttledNanos()).isPositive().isEqualTo(throttledNanos(0));
  }

  @Test
  void throttledNanos_ofALendableLease_areNone() throws InterruptedException {
    GpuTimeSlice slice = session(0, 0, 5000, false);
    keepBusy(slice);
    keepBusy(session(1, 0, 5000, false));
    awaitUsed(100 * MILLI);
    stop();
    assertThat(slice.waitedNanos()).isPositive();
    assertThat(slice.throttledNanos()).isZero();
  }

  @Test
  void throttledNanos_whileAnotherHasTheGpu_areNone() throws InterruptedException {
    GpuTimeSlice hard = session(0, 0, 1000, true);
    session(1, 0, 5000, false);
    put(SchedulePage.leaseWord(0, SchedulePage.NOT_BEFORE), System.nanoTime() + AN_HOUR_NANOS);
    beActive(1);
    keepTimeSliceYoung(1);
    keepBusy(hard);
    awaitWaiting();
    stop();
    assertThat(hard.waitedNanos()).isPositive();
    assertThat(hard.throttledNanos()).isZero();
  }

  /** Waits until a thread that has begun to wait has asked whether it should go on waiting. */
  private void awaitWaiting() throws InterruptedException {
    while (asked.sum() < 2) {
      Thread.sleep(1);
    }
  }

  private long throttledNanos(int lease) {
    return page.get(JAVA_LONG, SchedulePage.leaseWord(lease, SchedulePage.THROTTLED));
  }

  @Test
  void begin_holderGivesNoSignOfLife_goesOnWithoutIt() {
    GpuTimeSlice silent = session(0, 0, 5000, false);
    GpuTimeSlice other = session(1, 0, 5000, false);
    assertThat(silent.begin(DeviceTime.ALWAYS, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    other.await(System.nanoTime());
    assertThat(other.isOver()).isFalse();
    assertThat(silent.isOver()).isTrue();
    assertThat(usedNanos(0)).isGreaterThanOrEqualTo(SliceHolding.LAPSE_NANOS - MILLI);
    other.end(System.nanoTime());
  }

  @Test
  void begin_holderIsIdle_takesTheTimeSliceAndChargesItForItsWork() {
    // The machine may take the processor away in the middle of any attempt, but not of all.
    long leastCharged = Long.MAX_VALUE;
    for (int attempt = 0; attempt < 20; attempt++) {
      page.fill((byte) 0);
      GpuTimeSlice idle = session(0, 0, 5000, false);
      GpuTimeSlice other = session(1, 0, 5000, false);
      long start = System.nanoTime();
      assertThat(idle.begin(DeviceTime.ALWAYS, start)).isEqualTo(start);
      long end = System.nanoTime();
      idle.end(end);
      other.await(System.nanoTime());
      assertThat(idle.isOver()).isTrue();
      assertThat(usedNanos(0)).isPositive();
      leastCharged = Math.min(leastCharged, usedNanos(0) - (end - start));
      other.end(System.nanoTime());
    }
    assertThat(leastCharged).isLessThanOrEqualTo(2 * Pauses.LEAST_NANOS);
  }

  @Test
  void begin_useIsNotWantedAnyMore_givesUp() {
    GpuTimeSlice holder = session(0, 0, 5000, false);
    GpuTimeSlice other = session(1, 0, 5000, false);
    holder.await(System.nanoTime());
    AtomicInteger asked = new AtomicInteger();
    DeviceTime.Use use = () -> asked.incrementAndGet() < 2;
    assertThat(other.begin(use, System.nanoTime())).isEqualTo(DeviceTime.NOT_NOW);
    holder.end(System.nanoTime());
  }

  @Test
  void begin_otherSessionOfTheLease_joinsInItsTimeSlice() {
    GpuTimeSlice one = session(0, 0, 5000, false);
    GpuTimeSlice other = session(0, 1, 5000, false);
    long now = System.nanoTime();
    one.await(now);
    assertThat(other.begin(DeviceTime.ALWAYS, now)).isEqualTo(now);
    assertThat(one.isOver() || other.isOver()).isFalse();
  }

  @Test
  void end_nobodyWaited_onlyWorkIsCharged() {
    GpuTimeSlice slice = session(0, 0, 10_000, false);
    long now = System.nanoTime();
    for (int i = 0; i < 10; i++) {
      assertThat(slice.begin(DeviceTime.ALWAYS, now)).isEqualTo(now);
      slice.end(now + MILLI);
      now += 5 * MILLI;
    }
    assertThat(usedNanos(0)).isBetween(9 * MILLI - 20_000, 10 * MILLI);
    assertThat(slice.usedNanos()).isBetween(10 * MILLI - 1000, 10 * MILLI + 1000);
  }

  @Test
  void join_fileTooShort_saysSo(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("schedule"), new byte[SchedulePage.BYTES]);
    try (ServerFile handed = TestFiles.open(file)) {
      GpuTimeSlice first = GpuTimeSlice.join(handed, new ScheduleSlot(0, 0, 0));
      assertThat(first.isOver()).isTrue();
      assertThatThrownBy(() -> GpuTimeSlice.join(handed, new ScheduleSlot(1, 0, 0)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("the server's file has " + SchedulePage.BYTES + " bytes");
    }
  }

  private GpuTimeSlice holder(int lease, int session) {
    GpuTimeSlice slice = session(lease, session, 5000, false);
    assertThat(slice.begin(DeviceTime.ALWAYS, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    return slice;
  }

  private void beActive(int lease) {
    put(SchedulePage.activeUntil(lease, 0), System.nanoTime() + AN_HOUR_NANOS);
  }

  /** The time slice began so long ago that it is over. */
  private void makeTimeSliceOld(int lease) {
    put(SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(lease, System.nanoTime() - 20 * MILLI));
  }

  /** However slow this machine is, the time slice is not over. */
  private void keepTimeSliceYoung(int lease) {
    put(
        SchedulePage.TIME_SLICE,
        SharedSchedule.timeSliceOf(lease, System.nanoTime() + AN_HOUR_NANOS));
  }

  @Test
  void renew_ofALeaseThatIsAlone_saysSo() {
    session(1, 0, 5000, false);
    GpuTimeSlice slice = holder(0, 0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
  }

  @Test
  void renew_whileAnotherHasWork_endsWithTheTimeSlice() {
    session(1, 0, 5000, false);
    GpuTimeSlice slice = holder(0, 0);
    beActive(1);
    keepTimeSliceYoung(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.ENDED);
  }

  @Test
  void renew_afterAKernelLongerThanSeveralTimeSlices_countsItBeforeTheNextBegins() {
    session(1, 0, 5000, false);
    GpuTimeSlice slice = holder(0, 0);
    beActive(1);
    // By what is in the books it is this lease's time slice for long.
    put(SchedulePage.leaseWord(1, SchedulePage.VIRTUAL_TIME), 50 * MILLI);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
    slice.addMeasured(50 * MILLI);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.ENDED);
  }

  @Test
  void virtualTime_ofTheGpu_doesNotPassALeaseThatHadWorkJustBefore() {
    session(0, 0, 7000, false);
    session(1, 0, 3000, false);
    put(SchedulePage.leaseWord(0, SchedulePage.VIRTUAL_TIME), 300 * MILLI);
    put(SchedulePage.leaseWord(1, SchedulePage.VIRTUAL_TIME), 200 * MILLI);
    long now = System.nanoTime();
    schedule.markActive(1, 0, now - MILLI);
    schedule.serve(0, now);
    assertThat(schedule.virtualNow()).isEqualTo(200 * MILLI);
    schedule.serve(0, now + 10 * MILLI);
    assertThat(schedule.virtualNow()).isEqualTo(300 * MILLI);
  }

  @Test
  void measuredTime_lessThanWasCharged_makesLaterWorkFree() {
    GpuTimeSlice slice = holder(0, 0);
    slice.addMeasured(10 * MILLI);
    schedule.chargeMeasured(0, System.nanoTime());
    schedule.addMeasured(0, -4 * MILLI);
    schedule.chargeMeasured(0, System.nanoTime());
    slice.addMeasured(5 * MILLI);
    schedule.chargeMeasured(0, System.nanoTime());
    assertThat(usedNanos(0)).isEqualTo(11 * MILLI);
  }

  @Test
  void renew_ofAHardLeaseThatIsAlone_endsWithTheTimeSlice() {
    GpuTimeSlice slice = session(0, 0, 3000, true);
    long began = slice.begin(DeviceTime.ALWAYS, System.nanoTime());
    assertThat(began).isNotEqualTo(DeviceTime.NOT_NOW);
    keepTimeSliceYoung(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
    put(SchedulePage.leaseWord(0, SchedulePage.NOT_BEFORE), System.nanoTime() + AN_HOUR_NANOS);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.ENDED);
  }

  @Test
  void slice_ofALeaseWithWorkUnderWay_doesNotGoToAnother() {
    session(1, 0, 5000, false);
    GpuTimeSlice first = holder(0, 0);
    GpuTimeSlice second = holder(0, 1);
    assertThat(first.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    assertThat(second.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    beActive(1);
    makeTimeSliceOld(0);
    first.workFinished();
    threads.add(Thread.ofPlatform().start(() -> first.pass(() -> !stopped)));
    long until = System.nanoTime() + 20 * MILLI;
    while (System.nanoTime() < until) {
      assertThat(second.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.ENDED);
      assertThat(SharedSchedule.holder(schedule.current())).isZero();
    }
    second.workFinished();
    awaitHolder(1);
    stopped = true;
    put(SchedulePage.activeUntil(1, 0), 0);
  }

  private void awaitHolder(int lease) {
    while (SharedSchedule.holder(schedule.current()) != lease) {
      Thread.onSpinWait();
    }
  }

  /** A session of a lease that serves requests. */
  private GpuTimeSlice serving(int lease) {
    GpuTimeSlice slice = session(lease, 0, 5000, false);
    put(SchedulePage.leaseWord(lease, SchedulePage.LATENCY), 1);
    return slice;
  }

  @Test
  void renew_besideALatencyLeaseWithoutWork_isShared() {
    GpuTimeSlice slice = holder(0, 0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    GpuTimeSlice ignored = serving(1);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
  }

  @Test
  void slice_askedBackByALatencyLease_isOverAtOnce() {
    GpuTimeSlice latency = serving(1);
    GpuTimeSlice slice = holder(0, 0);
    keepTimeSliceYoung(0);
    beActive(0);
    threads.add(Thread.ofPlatform().start(() -> latency.pass(() -> !stopped)));
    while (schedule.recall() != schedule.current()) {
      Thread.onSpinWait();
    }
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.ENDED);
    slice.workFinished();
    threads.add(Thread.ofPlatform().start(() -> slice.pass(() -> !stopped)));
    awaitHolder(1);
    stopped = true;
  }

  @Test
  void slice_askedBackTooSoonByABatchLease_goesOn() {
    session(1, 0, 5000, false);
    GpuTimeSlice slice = holder(0, 0);
    beActive(1);
    keepTimeSliceYoung(0);
    put(SchedulePage.RECALL, schedule.current());
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
    assertThat(slice.pass(DeviceTime.ALWAYS)).isZero();
  }

  @Test
  void slice_askedBackForALatencyLeaseWithoutCredit_goesOn() {
    GpuTimeSlice ignored = serving(1);
    put(SchedulePage.leaseWord(1, SchedulePage.VIRTUAL_TIME), AN_HOUR_NANOS);
    GpuTimeSlice slice = holder(0, 0);
    beActive(1);
    keepTimeSliceYoung(0);
    put(SchedulePage.RECALL, schedule.current());
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.CONTENDED);
  }

  @Test
  void slice_keptInAPause_isALatencyLeasesForTheAsking() {
    GpuTimeSlice latency = serving(1);
    GpuTimeSlice slice = holder(0, 0);
    long now = System.nanoTime();
    slice.end(now);
    assertThat(latency.begin(() -> false, now)).isEqualTo(now);
    assertThat(slice.isOver()).isTrue();
    assertThat(latency.isOver()).isFalse();
  }

  @Test
  void end_whileALatencyLeaseAsksForTheTimeSlice_passesItOn() {
    GpuTimeSlice ignored = serving(1);
    GpuTimeSlice slice = holder(0, 0);
    beActive(1);
    put(SchedulePage.RECALL, schedule.current());
    slice.end(System.nanoTime());
    assertThat(SharedSchedule.holder(schedule.current())).isEqualTo(1);
  }

  @Test
  void measuredTime_ofTwoSessionsAtOnce_countsOnceForTheirLease() {
    GpuTimeSlice first = holder(0, 0);
    GpuTimeSlice second = holder(0, 1);
    assertThat(first.renew(System.nanoTime())).isNotNull();
    assertThat(second.renew(System.nanoTime())).isNotNull();
    first.addMeasured(0);
    second.addMeasured(0);
    first.addMeasured(2 * MILLI);
    second.addMeasured(2 * MILLI);
    makeTimeSliceOld(0);
    assertThat(first.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    assertThat(usedNanos(0)).isEqualTo(2 * MILLI);
    assertThat(first.usedNanos()).isEqualTo(2 * MILLI);
  }

  @Test
  void slice_thatWasMeasured_costsThatAndNotItsLength() {
    session(1, 0, 5000, false);
    GpuTimeSlice slice = holder(0, 0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    slice.addMeasured(3 * MILLI);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    assertThat(usedNanos(0)).isEqualTo(3 * MILLI);
  }
}
