// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.SchedulePage;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Time slices of threads that always have work, as the machine's clock measures them. */
@Timeout(60)
class BusyTimeSlicesTest extends TimeSliceFixture {
  private static final long PIECE_NANOS = 50_000;
  private static final long WINDOW_NANOS = 300 * MILLI;
  private static final int WINDOWS = 20;
  private static final double TOLERANCE = 0.08;

  private final LongAdder asked = new LongAdder();

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
}
