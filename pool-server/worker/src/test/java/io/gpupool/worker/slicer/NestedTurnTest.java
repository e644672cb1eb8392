// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.DriverTime.Hold;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.TurnPage;
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
class NestedTurnTest {
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
    return Arena.ofAuto().allocate(TurnPage.BYTES, 64);
  }

  private static GpuTurn turn(MemorySegment page, int number, int sessions, int session) {
    page.set(JAVA_LONG, TurnPage.LEASES, 2);
    page.set(JAVA_LONG, TurnPage.leaseWord(number, TurnPage.SESSIONS), sessions);
    page.set(JAVA_LONG, TurnPage.leaseWord(number, TurnPage.WEIGHT), FairShares.WHOLE / 2);
    return new GpuTurn(new SharedTurns(page), number, session);
  }

  /** A program of lease 0. */
  private NestedTurn program(int slot) {
    return new NestedTurn(turn(leases, 0, 2, slot), turn(programs, slot, 1, 0));
  }

  /** Lease 1 has work, but has had so much that it is not its turn. */
  private void anotherComes() {
    GpuTurn ignored = turn(leases, 1, 1, 0);
    long until = System.nanoTime() + AN_HOUR_NANOS;
    leases.set(JAVA_LONG, TurnPage.activeUntil(1, 0), until);
    leases.set(JAVA_LONG, TurnPage.leaseWord(1, TurnPage.VIRTUAL_TIME), AN_HOUR_NANOS);
  }

  /** A thread that always has work for a driver: pieces that take a while. */
  private void keepBusy(
      SessionTurn turn, AtomicInteger atWork, AtomicInteger most, LongAdder done) {
    threads.add(
        Thread.ofPlatform()
            .start(() -> {
              DeviceTime.Use use = () -> !stopped;
              while (!stopped && turn.begin(use, System.nanoTime()) == DeviceTime.NOT_NOW) {}
              while (!stopped) {
                if (turn.hold(System.nanoTime()) == Hold.OVER) {
                  turn.finished();
                  long ignored = turn.pass(use);
                } else {
                  most.accumulateAndGet(atWork.incrementAndGet(), Math::max);
                  work();
                  int ignored = atWork.decrementAndGet();
                  turn.used(MILLI);
                  done.increment();
                }
              }
              turn.finished();
              turn.end(System.nanoTime());
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
    keepBusy(turn(leases, 1, 1, 0), new AtomicInteger(), new AtomicInteger(), other);
    while (other.sum() == 0) {
      Thread.sleep(1);
    }
    keepBusy(program(0), atWork, most, first);
    keepBusy(program(1), atWork, most, second);
    while (first.sum() + second.sum() < 400) {
      Thread.sleep(5);
    }
    assertThat(most).hasValue(1);
    double lease = first.sum() + second.sum();
    // Equal, but for a thread that a busy machine keeps from its turn.
    assertThat(first.sum() / lease).isBetween(0.25, 0.75);
    assertThat(lease / (lease + other.sum())).isBetween(0.25, 0.75);
  }

  @Test
  void programs_ofALeaseThatIsAlone_runSideBySide() {
    NestedTurn first = program(0);
    NestedTurn second = program(1);
    assertThat(first.begin(WANTED, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    assertThat(second.begin(WANTED, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    assertThat(first.hold(System.nanoTime())).isEqualTo(Hold.ALONE);
    assertThat(second.hold(System.nanoTime())).isEqualTo(Hold.ALONE);
  }

  @Test
  void hold_onceAnotherLeaseComes_letsOneProgramGoOnAtATime() {
    NestedTurn first = program(0);
    NestedTurn second = program(1);
    long ignored = first.begin(WANTED, System.nanoTime());
    ignored = second.begin(WANTED, System.nanoTime());
    anotherComes();
    assertThat(first.hold(System.nanoTime())).isEqualTo(Hold.OVER);
    assertThat(second.hold(System.nanoTime())).isEqualTo(Hold.OVER);
    first.finished();
    ignored = first.pass(WANTED);
    assertThat(first.hold(System.nanoTime())).isEqualTo(Hold.SHARED);
    assertThat(second.hold(System.nanoTime())).isEqualTo(Hold.OVER);
    first.finished();
    first.end(System.nanoTime());
    second.finished();
    ignored = second.pass(WANTED);
    assertThat(second.hold(System.nanoTime())).isEqualTo(Hold.SHARED);
  }

  @Test
  void hold_onceTheOtherLeaseHasGone_letsProgramsRunSideBySideAgain() {
    anotherComes();
    NestedTurn first = program(0);
    NestedTurn second = program(1);
    long ignored = first.begin(WANTED, System.nanoTime());
    assertThat(first.hold(System.nanoTime())).isEqualTo(Hold.SHARED);
    leases.set(JAVA_LONG, TurnPage.activeUntil(1, 0), 0);
    assertThat(first.hold(System.nanoTime())).isEqualTo(Hold.ALONE);
    ignored = second.begin(WANTED, System.nanoTime());
    assertThat(second.hold(System.nanoTime())).isEqualTo(Hold.ALONE);
    assertThat(first.waitedNanos()).isZero();
  }
}
