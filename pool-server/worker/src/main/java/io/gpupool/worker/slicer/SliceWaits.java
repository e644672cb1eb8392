// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.soft.exec.launch.DeviceTime.Use;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * The waits of a session's threads for their lease's time slice. One thread watches the schedule
 * for all of them, and its time counts. Any thread may call it.
 */
final class SliceWaits {
  /** The time after which a thread looks for other devices' work. */
  private static final long BOUND_NANOS = 4_000_000;

  private static final long LOOK_SOON_NANOS = 100_000;
  private static final long LOOK_NANOS = 500_000;
  private static final long LOOK_SELDOM_NANOS = 2_000_000;
  private static final long LOOK_LAST_NANOS = 20_000_000;
  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  private final SharedSchedule schedule;
  private final int lease;
  private final ActiveThreads threads;
  private final SliceHolding holding;
  private final StarvationGuard starvation;
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicBoolean watched = new AtomicBoolean();
  private final LongAdder waitedNanos = new LongAdder();
  private final LongAdder throttledNanos = new LongAdder();

  SliceWaits(
      SharedSchedule schedule,
      int lease,
      ActiveThreads threads,
      SliceHolding holding,
      StarvationGuard starvation) {
    this.schedule = schedule;
    this.lease = lease;
    this.threads = threads;
    this.holding = holding;
    this.starvation = starvation;
  }

  /** Returns the time for which threads have waited. */
  long waitedNanos() {
    return waitedNanos.sum();
  }

  /** Returns the part of it in which only the lease's own limit kept it from the GPU. */
  long throttledNanos() {
    return throttledNanos.sum();
  }

  /** Returns whether a thread waits. */
  boolean areAny() {
    return waiting.get() > 0;
  }

  /** Announces a wait: {@link #await} follows when the thread no longer counts as active. */
  void begin() {
    waiting.incrementAndGet();
  }

  /**
   * Waits for the lease's time slice. The thread counts as active again afterwards.
   *
   * @return whether the threads may run; if not, the use is not wanted, or the bound is reached
   */
  boolean await(Use use, long since, boolean bounded) {
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
        if (mayRun(now)) {
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
        count(now - watchedSince, throttling.nanos());
        watched.set(false);
      }
      if (waiting.decrementAndGet() > 0 && watching) {
        // One of them has to watch now, or they too have their time slice.
        schedule.wake(lease);
      }
    }
  }

  private boolean mayRun(long now) {
    return holding.take(now)
        || starvation.isAlone()
        || starvation.isStarved(now, schedule.isHard(lease), schedule.weight(lease));
  }

  private void count(long waited, long throttled) {
    waitedNanos.add(waited);
    schedule.addWaited(lease, waited);
    throttledNanos.add(throttled);
    schedule.addThrottled(lease, throttled);
  }

  /** Recalls the time slice if the lease may; returns the time until the next look. */
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
