// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The decision whether a session follows the schedule page. Workers of other tenants can write to
 * it, and a compromised one could keep the time slice indefinitely or falsify the accounts. Any
 * thread may call it; a race between two threads does no harm.
 */
final class StarvationGuard {
  /*
   * Workers that behave pass the time slice on within milliseconds, and one that is stopped or dead
   * loses it after 100 ms. So a session that has waited for much longer than any rule makes it wait
   * runs without a time slice for a while, on the processors alone, which the system shares out;
   * then it looks at the page again. A hard lease may have to wait for long after a long time slice:
   * the guard reckons that by what this session itself knows of its last one.
   */

  /** The least time for which a session waits for its time slice. */
  static final long PATIENCE_NANOS = 5_000_000_000L;

  /** The time for which it then runs without one. */
  static final long ALONE_NANOS = 10_000_000_000L;

  /** A hundredth of a GPU: no lease has less. */
  private static final long MIN_WEIGHT = 100;

  private static final long MAX_USED_NANOS = 3_600_000_000_000L;

  private final ActiveThreads threads;
  private final long patienceNanos;
  private volatile long waitingSince;
  private volatile boolean alone;
  private volatile long aloneUntil;
  private volatile boolean reported;

  /** The session's use of the GPU when its last time slice began. */
  private volatile long usedBeforeNanos;

  StarvationGuard(ActiveThreads threads, long patienceNanos) {
    this.threads = threads;
    this.patienceNanos = patienceNanos;
  }

  /** Returns whether the session runs without a time slice now. */
  boolean isAlone() {
    if (alone && System.nanoTime() - aloneUntil >= 0) {
      alone = false;
    }
    return alone;
  }

  /** Notes that the session's time slice begins. */
  void served() {
    if (waitingSince != 0) {
      waitingSince = 0;
    }
    usedBeforeNanos = threads.busyNanos(System.nanoTime());
  }

  /** Notes that the session waits, and returns whether it has waited for too long. */
  boolean isStarved(long now, boolean hard, long weight) {
    long since = waitingSince;
    if (since == 0) {
      waitingSince = now | 1;
      return false;
    }
    if (now - since - (hard ? owedNanos(now, weight) : 0) < patienceNanos) {
      return false;
    }
    waitingSince = 0;
    aloneUntil = now + ALONE_NANOS;
    alone = true;
    report(now - since);
    return true;
  }

  /** Returns what a hard lease may have to wait for its last time slice, and as much again. */
  private long owedNanos(long now, long weight) {
    long used = Math.clamp(threads.busyNanos(now) - usedBeforeNanos, 0, MAX_USED_NANOS);
    return 2 * used * FairShares.WHOLE / Math.max(MIN_WEIGHT, weight);
  }

  private void report(long waitedNanos) {
    if (!reported) {
      reported = true;
      System.err.println(
          "gpupool worker: no time slice of the GPU for "
              + waitedNanos / 1_000_000
              + " ms: another worker keeps it, or the schedule page is damaged; going on without"
              + " time slices for "
              + ALONE_NANOS / 1_000_000
              + " ms at a time");
    }
  }
}
