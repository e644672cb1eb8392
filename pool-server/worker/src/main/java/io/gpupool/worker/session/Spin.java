// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/**
 * The manner in which a thread looks for input before it sleeps. It yields its processor between
 * two looks; while others want the processor, it keeps it; and while such looks find nothing, it
 * sleeps at once. Used by one thread.
 *
 * <p>A thread that yields costs nobody anything, but if others compute, the scheduler gives them a
 * whole time slice, milliseconds. One that keeps its processor finds its input in microseconds,
 * unless the program waits for this very processor.
 */
final class Spin {
  /** A longer pause means that others have computed meanwhile. */
  private static final long LOST_NANOS = 100_000;

  /**
   * As many times as long as the processor was lost, the thread keeps it. Each time that it is lost
   * again, twice as many, so that a processor that others keep busy is seldom yielded.
   */
  private static final int LEAST_TIMES = 4;

  private static final int MOST_TIMES = 256;
  private static final long MOST_KEEPS_NANOS = 250_000_000;

  /**
   * Spins without yielding that find nothing, less those that find something, before the thread
   * sleeps at once. Afterwards, the first such spin is enough.
   */
  private static final int MOST_FAILURES = 4;

  private static final long SLEEPS_NANOS = 10_000_000;

  private final long spinNanos;
  private long looked;
  private long deadline;
  private boolean yields;
  private long yieldsFrom = System.nanoTime();
  private int times = LEAST_TIMES;
  private long spinsFrom = yieldsFrom;
  private int failures;

  /**
   * @param spinNanos how long it looks
   */
  Spin(long spinNanos) {
    this.spinNanos = spinNanos;
  }

  /** Begins to look for input. */
  void begin() {
    begin(System.nanoTime());
  }

  void begin(long now) {
    looked = now;
    yields = now - yieldsFrom >= 0;
    deadline = yields || now - spinsFrom >= 0 ? now + spinNanos : now;
  }

  /** Returns whether to look again. */
  boolean goesOn() {
    return looked - deadline < 0;
  }

  /** Returns whether the latest spin yielded. */
  boolean yields() {
    return yields;
  }

  /** Waits a moment before the next look. */
  void pause() {
    if (yields) {
      Thread.yield();
    } else {
      Thread.onSpinWait();
    }
    paused(System.nanoTime());
  }

  void paused(long now) {
    long lostNanos = now - looked;
    if (yields && lostNanos > LOST_NANOS) {
      yieldsFrom = now + Math.min(MOST_KEEPS_NANOS, times * lostNanos);
      times = Math.min(MOST_TIMES, 2 * times);
      deadline = now;
    }
    looked = now;
  }

  /**
   * Ends a spin.
   *
   * @param found whether input has come
   */
  void end(boolean found) {
    if (yields) {
      boolean lost = looked - yieldsFrom < 0;
      times = lost ? times : Math.max(LEAST_TIMES, times / 2);
    } else if (found) {
      failures = Math.max(0, failures - 1);
    } else if (looked - spinsFrom >= 0 && ++failures == MOST_FAILURES) {
      failures = MOST_FAILURES - 1;
      spinsFrom = looked + SLEEPS_NANOS;
    }
  }
}
