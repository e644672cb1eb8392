// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.SchedulePage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A session on a schedule page that another tenant's worker writes to as it likes. */
@Timeout(60)
class HostilePageTest {
  private static final int VICTIM = 0;
  private static final int HOSTILE = 1;
  private static final long PATIENCE_NANOS = 20_000_000;
  private static final long FAR = Long.MAX_VALUE / 4;

  private final MemorySegment page = Arena.ofAuto().allocate(SchedulePage.BYTES, 64);

  private GpuTimeSlice victim() {
    put(SchedulePage.LEASES, 2);
    put(SchedulePage.leaseWord(VICTIM, SchedulePage.WEIGHT), 5000);
    put(SchedulePage.leaseWord(VICTIM, SchedulePage.SESSIONS), 1);
    put(SchedulePage.leaseWord(HOSTILE, SchedulePage.WEIGHT), 5000);
    put(SchedulePage.leaseWord(HOSTILE, SchedulePage.SESSIONS), 1);
    return new GpuTimeSlice(new SharedSchedule(page), VICTIM, 0, PATIENCE_NANOS);
  }

  private void put(int at, long value) {
    page.set(JAVA_LONG, at, value);
  }

  /** Runs a piece of work to its end; hangs if the session never has the GPU. */
  private static void work(GpuTimeSlice slice) {
    while (slice.begin(DeviceTime.ALWAYS, System.nanoTime()) == DeviceTime.NOT_NOW) {
      Thread.onSpinWait();
    }
    long held = slice.pass(DeviceTime.ALWAYS);
    assertThat(held).isNotNegative();
    slice.end(System.nanoTime());
  }

  static Stream<Arguments> pages() {
    return Stream.of(
        page(
            "another keeps the time slice",
            test -> {
              test.put(
                  SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(HOSTILE, System.nanoTime()));
              test.put(SchedulePage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "a time slice from the future",
            test -> {
              test.put(
                  SchedulePage.TIME_SLICE,
                  SharedSchedule.timeSliceOf(HOSTILE, System.nanoTime() + FAR / 8));
              test.put(SchedulePage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "the victim has used up its time",
            test -> {
              test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.HARD), 1);
              test.put(
                  SchedulePage.leaseWord(VICTIM, SchedulePage.NOT_BEFORE), System.nanoTime() + FAR);
            }),
        page(
            "the victim is far ahead",
            test -> {
              test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.VIRTUAL_TIME), Long.MAX_VALUE);
              test.put(
                  SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(HOSTILE, System.nanoTime()));
              test.put(SchedulePage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "another serves requests and never uses up its credit",
            test -> {
              test.put(SchedulePage.leaseWord(HOSTILE, SchedulePage.LATENCY), 1);
              test.put(
                  SchedulePage.leaseWord(HOSTILE, SchedulePage.VIRTUAL_TIME), Long.MIN_VALUE / 2);
              test.put(
                  SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(HOSTILE, System.nanoTime()));
              test.put(SchedulePage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "everybody serves requests, and every time slice is recalled",
            test -> {
              test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.LATENCY), -1);
              test.put(SchedulePage.leaseWord(HOSTILE, SchedulePage.LATENCY), -1);
              test.put(SchedulePage.VIRTUAL_NOW, Long.MAX_VALUE);
              test.put(
                  SchedulePage.TIME_SLICE, SharedSchedule.timeSliceOf(VICTIM, System.nanoTime()));
              test.put(SchedulePage.RECALL, SharedSchedule.timeSliceOf(VICTIM, System.nanoTime()));
              test.put(SchedulePage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page("there is no lease", test -> test.put(SchedulePage.LEASES, 0)),
        page(
            "the victim has no weight",
            test -> test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.WEIGHT), 0)),
        page(
            "weights below nothing",
            test -> test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.WEIGHT), Long.MIN_VALUE)),
        page(
            "the time slice of a lease that cannot be",
            test -> test.put(SchedulePage.TIME_SLICE, 0xfa)),
        page(
            "more leases and sessions than there can be",
            test -> {
              test.put(SchedulePage.LEASES, Long.MAX_VALUE);
              test.put(SchedulePage.leaseWord(VICTIM, SchedulePage.SESSIONS), Long.MAX_VALUE);
            }));
  }

  private static Arguments page(String name, Consumer<HostilePageTest> change) {
    return Arguments.argumentSet(name, change);
  }

  @ParameterizedTest
  @MethodSource("pages")
  void session_whateverThePageSays_runsAfterAWhile(Consumer<HostilePageTest> change) {
    GpuTimeSlice slice = victim();
    change.accept(this);
    work(slice);
    change.accept(this);
    work(slice);
  }

  @Test
  void session_whileAnotherScribblesOverThePage_goesOnWithoutAFault() throws Exception {
    GpuTimeSlice slice = victim();
    boolean[] over = new boolean[1];
    Thread scribbler =
        Thread.ofPlatform()
            .start(() -> {
              Random random = new Random(7);
              while (!over[0]) {
                int word = random.nextInt((int) (page.byteSize() / 8));
                long value = random.nextBoolean() ? random.nextLong() : random.nextInt(4) - 1;
                put(8 * word, value);
                put(SchedulePage.TIME_SLICE, random.nextLong());
                put(SchedulePage.leaseWord(HOSTILE, SchedulePage.LATENCY), random.nextInt(2));
                put(SchedulePage.leaseWord(VICTIM, SchedulePage.WEIGHT), random.nextInt(2));
                Thread.yield();
              }
            });
    try {
      for (int i = 0; i < 2000; i++) {
        work(slice);
      }
    } finally {
      over[0] = true;
      scribbler.join();
    }
  }
}
