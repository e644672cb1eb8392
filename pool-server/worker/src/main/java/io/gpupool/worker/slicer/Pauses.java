// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * The recent length of a session's pauses between kernels, and so the time for which its time slice
 * should wait for the next one. Any thread may call; a figure that gets lost between two does no
 * harm.
 */
final class Pauses {
  /*
   * A program that awaits each of its kernels pauses for as long as an answer takes to reach it and
   * its next call to come back: some 50 us on an idle machine, milliseconds on a busy one. If its
   * time slice went with each pause it would have one short kernel a time slice, and never its share. So a time slice
   * outlasts pauses like those before. The time is charged: it is the program's own share that is
   * spent so.
   */

  /** The shortest time that a slice is kept. */
  static final long LEAST_NANOS = 300_000;

  /**
   * The longest time that a slice is kept; a program with longer pauses gets a new slice after
   * each.
   */
  static final long MOST_NANOS = 2_000_000;

  /** Pauses longer than this are no part of a rhythm. */
  private static final long RHYTHM_NANOS = 20_000_000;

  private static final int MARGIN = 3;
  private static final int MEMORY = 8;

  private volatile long typicalNanos;
  private volatile long graceNanos = LEAST_NANOS;

  /** Notes the length of a pause that has ended. */
  void note(long nanos) {
    if (nanos < 0 || nanos > RHYTHM_NANOS) {
      return;
    }
    long before = typicalNanos;
    long typical = before + (nanos - before) / MEMORY;
    if (typical != before) {
      typicalNanos = typical;
      graceNanos =
          typical > MOST_NANOS
              ? LEAST_NANOS
              : Math.clamp(MARGIN * typical, LEAST_NANOS, MOST_NANOS);
    }
  }

  /** Returns the time for which a slice is kept after the last kernel or copy. */
  long graceNanos() {
    return graceNanos;
  }
}
