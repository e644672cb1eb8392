// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gpupool.wire.SchedulePage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** The page of a GPU's schedule, sessions that share it, and threads that end with the test. */
abstract class TimeSliceFixture {
  static final long MILLI = 1_000_000;
  static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  final MemorySegment page = Arena.ofAuto().allocate(SchedulePage.BYTES, 64);
  final SharedSchedule schedule = new SharedSchedule(page);
  final List<Thread> threads = new ArrayList<>();
  volatile boolean stopped;

  @AfterEach
  void stop() throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  GpuTimeSlice session(int lease, int session, int weight, boolean hard) {
    put(SchedulePage.LEASES, Math.max(lease + 1, schedule.count()));
    put(SchedulePage.leaseWord(lease, SchedulePage.HARD), hard ? 1 : 0);
    put(SchedulePage.leaseWord(lease, SchedulePage.SESSIONS), session + 1);
    put(SchedulePage.leaseWord(lease, SchedulePage.WEIGHT), weight);
    return new GpuTimeSlice(schedule, lease, session);
  }

  void put(int at, long value) {
    page.set(JAVA_LONG, at, value);
  }

  long usedNanos(int lease) {
    return page.get(JAVA_LONG, SchedulePage.leaseWord(lease, SchedulePage.USED));
  }

  void beActive(int lease) {
    put(SchedulePage.activeUntil(lease, 0), System.nanoTime() + AN_HOUR_NANOS);
  }

  /** However slow this machine is, the time slice is not over. */
  void keepTimeSliceYoung(int lease) {
    put(
        SchedulePage.TIME_SLICE,
        SharedSchedule.timeSliceOf(lease, System.nanoTime() + AN_HOUR_NANOS));
  }
}
