// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The decision whether a session follows the schedule page. Workers of other tenants can write to
 * it, and a compromised one could keep the time slice indefinitely or falsify the accounts. Any
 * thread may call it; what gets lost between two does no harm.
 */
final class StarvationGuard {
  /*
   * Workers that are what they should be pass the time slice on within milliseconds, and one that is
   * stopped or dead loses it after 100 ms. So a session that has waited for much longer than any
   * rule has it wait runs without a time slice for a while, on the processors alone, which the system
   * shares out; then it looks at the page again. A hard lease may have to wait for long after a
   * long time slice: that is reckoned by what this session itself knows of its last one.
   */

  /** For so long a session waits for its time slice in any case. */
  static final long PATIENCE_NANOS = 5_000_000_000L;

  /** So long it runs without. */
  static final long ALONE_NANOS = 10_000_000_000L;

  private final long patienceNanos;
  private volatile long waitingSince;
  private volatile boolean alone;
  private volatile long aloneUntil;
  private volatile boolean told;

  StarvationGuard(long patienceNanos) {
    this.patienceNanos = patienceNanos;
  }

  /** Whether the session runs without a time slice now. */
  boolean isAlone() {
    if (alone && System.nanoTime() - aloneUntil >= 0) {
      alone = false;
    }
    return alone;
  }

  /** It was the session's time slice. */
  void served() {
    if (waitingSince != 0) {
      waitingSince = 0;
    }
  }

  /**
   * The session waits; whether that has taken too long.
   *
   * @param owedNanos what it may have to wait for its last time slice
   */
  boolean isStarved(long nowNanos, long owedNanos) {
    long since = waitingSince;
    if (since == 0) {
      waitingSince = nowNanos | 1;
      return false;
    }
    if (nowNanos - since - owedNanos < patienceNanos) {
      return false;
    }
    waitingSince = 0;
    aloneUntil = nowNanos + ALONE_NANOS;
    alone = true;
    if (!told) {
      told = true;
      System.err.println(
          "gpupool worker: a GPU's time slice did not come for "
              + (nowNanos - since) / 1_000_000
              + " ms: another worker keeps it, or the schedule page is damaged; going on without"
              + " time slices for "
              + ALONE_NANOS / 1_000_000
              + " ms at a time");
    }
    return true;
  }
}
