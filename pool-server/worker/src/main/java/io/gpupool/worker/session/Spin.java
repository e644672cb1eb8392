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

  /** As many times as long as the processor was lost, the thread sleeps at once. */
  private static final int REST_TIMES = 4;

  private final long spinNanos;
  private long deadline;
  private long turn;
  private long restUntil = System.nanoTime();

  Spin(long spinNanos) {
    this.spinNanos = spinNanos;
  }

  /** Begins to look for input. */
  void begin() {
    begin(System.nanoTime());
  }

  void begin(long now) {
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
    if (lostNanos > GIVEN_WAY_NANOS) {
      restUntil = now + REST_TIMES * lostNanos;
      deadline = now;
    }
    turn = now;
  }
}
