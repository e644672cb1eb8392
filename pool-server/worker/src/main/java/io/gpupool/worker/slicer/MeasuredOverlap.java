// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * The average number of sessions of a lease that had work on the GPU at once between two
 * measurements: the time that one of them measures is in part the others'. Any thread may call it.
 */
final class MeasuredOverlap {
  @GuardedBy("this")
  private double parts;

  @GuardedBy("this")
  private int looks;

  /** Notes the number of other sessions with work now. */
  synchronized void look(int others) {
    parts += 1.0 / (1 + others);
    looks++;
  }

  /** Returns this session's part of a measured time, by the looks since the one before. */
  synchronized long partOf(long nanos) {
    double part = looks == 0 ? 1 : parts / looks;
    parts = 0;
    looks = 0;
    return (long) (nanos * part);
  }
}
