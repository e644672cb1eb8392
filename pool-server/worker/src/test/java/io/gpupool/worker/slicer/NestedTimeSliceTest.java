// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.DriverTime.SliceState;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.SchedulePage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NestedTimeSliceTest {
  private static final long MILLI = 1_000_000;
  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;
  private static final DeviceTime.Use WANTED = () -> true;

  /** The GPU's: leases 0 and 1. */
  private final MemorySegment leases = page();

  /** Of the programs of lease 0. */
  private final MemorySegment programs = page();

  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;

  @AfterEach
  void stop() throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static MemorySegment page() {
    return Arena.ofAuto().allocate(SchedulePage.BYTES, 64);
  }

  private static GpuTimeSlice slice(MemorySegment page, int number, int sessions, int session) {
    page.set(JAVA_LONG, SchedulePage.LEASES, 2);
    page.set(JAVA_LONG, SchedulePage.leaseWord(number, SchedulePage.SESSIONS), sessions);
    page.set(JAVA_LONG, SchedulePage.leaseWord(number, SchedulePage.WEIGHT), FairShares.WHOLE / 2);
    return new GpuTimeSlice(new SharedSchedule(page), number, session);
  }

  /** A program of lease 0. */
  private NestedTimeSlice program(int slot) {
    return new NestedTimeSlice(slice(leases, 0, 2, slot), slice(programs, slot, 1, 0));
  }

  /** Lease 1 has work, but has had so much that it is not its time slice. */
  private void anotherComes() {
    GpuTimeSlice ignored = slice(leases, 1, 1, 0);
    long until = System.nanoTime() + AN_HOUR_NANOS;
    leases.set(JAVA_LONG, SchedulePage.activeUntil(1, 0), until);
    leases.set(JAVA_LONG, SchedulePage.leaseWord(1, SchedulePage.VIRTUAL_TIME), AN_HOUR_NANOS);
  }

  /** A thread that always has work for a driver: pieces that take a while. */
  private void keepBusy(
      SessionTimeSlice slice, AtomicInteger atWork, AtomicInteger most, LongAdder done) {
    threads.add(
        Thread.ofPlatform()
            .start(() -> {
              DeviceTime.Use use = () -> !stopped;
              while (!stopped && slice.begin(use, System.nanoTime()) == DeviceTime.NOT_NOW) {}
              while (!stopped) {
                if (slice.renew(System.nanoTime()) == SliceState.ENDED) {
                  slice.workFinished();
                  long ignored = slice.pass(use);
                } else {
                  most.accumulateAndGet(atWork.incrementAndGet(), Math::max);
                  work();
                  int ignored = atWork.decrementAndGet();
                  slice.addMeasured(MILLI);
                  done.increment();
                }
              }
              slice.workFinished();
              slice.end(System.nanoTime());
            }));
  }

  private static void work() {
    long start = System.nanoTime();
    while (System.nanoTime() - start < MILLI) {
      Thread.onSpinWait();
    }
  }

  @Test
  void programs_ofOneLeaseBesideAnother_haveWorkUnderWayOneAtATimeAndShareEqually()
      throws InterruptedException {
    AtomicInteger atWork = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    LongAdder first = new LongAdder();
    LongAdder second = new LongAdder();
    LongAdder other = new LongAdder();
    keepBusy(slice(leases, 1, 1, 0), new AtomicInteger(), new AtomicInteger(), other);
    while (other.sum() == 0) {
      Thread.sleep(1);
    }
    keepBusy(program(0), atWork, most, first);
    keepBusy(program(1), atWork, most, second);
    // A busy machine may stop a thread for so long that it loses its time slice, as one that hangs
    // does: two are at work then, and the shares are others. Not so in each of three windows.
    double ofLease;
    double ofAll;
    int windows = 0;
    do {
      windows++;
      most.set(0);
      List.of(first, second, other).forEach(LongAdder::reset);
      while (first.sum() + second.sum() < 400) {
        Thread.sleep(5);
      }
      double lease = first.sum() + second.sum();
      ofLease = first.sum() / lease;
      ofAll = lease / (lease + other.sum());
    } while (windows < 3 && (most.get() > 1 || !isAboutHalf(ofLease) || !isAboutHalf(ofAll)));
    assertThat(most).hasValue(1);
    assertThat(ofLease).isBetween(0.25, 0.75);
    assertThat(ofAll).isBetween(0.25, 0.75);
  }

  private static boolean isAboutHalf(double part) {
    return part >= 0.25 && part <= 0.75;
  }

  @Test
  void programs_ofALeaseThatIsAlone_runSideBySide() {
    NestedTimeSlice first = program(0);
    NestedTimeSlice second = program(1);
    assertThat(first.begin(WANTED, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    assertThat(second.begin(WANTED, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    assertThat(first.renew(System.nanoTime())).isEqualTo(SliceState.UNCONTENDED);
    assertThat(second.renew(System.nanoTime())).isEqualTo(SliceState.UNCONTENDED);
  }

  @Test
  void renew_onceAnotherLeaseComes_letsOneProgramGoOnAtATime() {
    NestedTimeSlice first = program(0);
    NestedTimeSlice second = program(1);
    long ignored = first.begin(WANTED, System.nanoTime());
    ignored = second.begin(WANTED, System.nanoTime());
    anotherComes();
    assertThat(first.renew(System.nanoTime())).isEqualTo(SliceState.ENDED);
    assertThat(second.renew(System.nanoTime())).isEqualTo(SliceState.ENDED);
    first.workFinished();
    ignored = first.pass(WANTED);
    assertThat(first.renew(System.nanoTime())).isEqualTo(SliceState.CONTENDED);
    assertThat(second.renew(System.nanoTime())).isEqualTo(SliceState.ENDED);
    first.workFinished();
    first.end(System.nanoTime());
    second.workFinished();
    ignored = second.pass(WANTED);
    assertThat(second.renew(System.nanoTime())).isEqualTo(SliceState.CONTENDED);
  }

  @Test
  void renew_onceTheOtherLeaseHasGone_letsProgramsRunSideBySideAgain() {
    anotherComes();
    NestedTimeSlice first = program(0);
    NestedTimeSlice second = program(1);
    long ignored = first.begin(WANTED, System.nanoTime());
    assertThat(first.renew(System.nanoTime())).isEqualTo(SliceState.CONTENDED);
    leases.set(JAVA_LONG, SchedulePage.activeUntil(1, 0), 0);
    assertThat(first.renew(System.nanoTime())).isEqualTo(SliceState.UNCONTENDED);
    ignored = second.begin(WANTED, System.nanoTime());
    assertThat(second.renew(System.nanoTime())).isEqualTo(SliceState.UNCONTENDED);
    assertThat(first.waitedNanos()).isZero();
  }
}
