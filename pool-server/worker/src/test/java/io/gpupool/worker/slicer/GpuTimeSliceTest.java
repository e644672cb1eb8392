// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.cuda.DriverTime;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class GpuTimeSliceTest extends TimeSliceFixture {
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

  /** The time slice began so long ago that it is over. */
  private void makeTimeSliceOld(int lease) {
    put(SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(lease, System.nanoTime() - 20 * MILLI));
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
    keepTimeSliceYoung(0);
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
    keepTimeSliceYoung(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    slice.addMeasured(3 * MILLI);
    makeTimeSliceOld(0);
    assertThat(slice.renew(System.nanoTime())).isEqualTo(DriverTime.SliceState.UNCONTENDED);
    assertThat(usedNanos(0)).isEqualTo(3 * MILLI);
  }
}
