// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/**
 * The time for which a thread looks for input before it sleeps: none for a while after others
 * wanted its processor. Used by one thread.
 */
final class Spin {
  /*
   * The scheduler gives a processor that many want to those who have used it least. A thread that
   * spins uses up its part, and then waits for milliseconds where one that sleeps is woken at once.
   */
  private static final long GIVEN_WAY_NANOS = 100_000;

  /**
   * As many times as long as the processor was lost, the thread sleeps at once. Each time that it
   * is lost again, twice as many, so that a processor that others keep busy is seldom tried.
   */
  private static final int LEAST_REST_TIMES = 4;

  private static final int MOST_REST_TIMES = 256;
  private static final long MOST_REST_NANOS = 250_000_000;

  private final long spinNanos;
  private long deadline;
  private long turn;
  private long restUntil = System.nanoTime();
  private int restTimes = LEAST_REST_TIMES;

  /** The latest spin has looked, and did not lose the processor. */
  private boolean kept;

  Spin(long spinNanos) {
    this.spinNanos = spinNanos;
  }

  /** Begins to look for input. */
  void begin() {
    begin(System.nanoTime());
  }

  void begin(long now) {
    if (kept) {
      restTimes = Math.max(LEAST_REST_TIMES, restTimes / 2);
      kept = false;
    }
    turn = now;
    deadline = now - restUntil < 0 ? now : now + spinNanos;
  }

  /** Returns whether to look again. */
  boolean goesOn() {
    return turn - deadline < 0;
  }

  /** Takes note that the thread has looked once, and has given way to others meanwhile. */
  void turned() {
    turned(System.nanoTime());
  }

  void turned(long now) {
    long lostNanos = now - turn;
    kept = lostNanos <= GIVEN_WAY_NANOS;
    if (!kept) {
      restUntil = now + Math.min(MOST_REST_NANOS, restTimes * lostNanos);
      restTimes = Math.min(MOST_REST_TIMES, 2 * restTimes);
      deadline = now;
    }
    turn = now;
  }
}
