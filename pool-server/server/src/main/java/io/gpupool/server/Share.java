// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.wire.ByteSize;
import java.util.Locale;

/**
 * Part of a GPU: what a lease has or what is free.
 *
 * @param computeBasisPoints hundredths of a percent of the GPU's time, 10,000 being all of it
 */
record Share(long memoryBytes, int computeBasisPoints) {
  static final int WHOLE_COMPUTE = 10_000;
  static final int MIN_COMPUTE = 100;
  static final long MIN_MEMORY_BYTES = 1L << 20;
  static final Share NONE = new Share(0, 0);

  Share {
    if (memoryBytes < 0 || computeBasisPoints < 0 || computeBasisPoints > WHOLE_COMPUTE) {
      throw new IllegalArgumentException(memoryBytes + " bytes, " + computeBasisPoints + " bp");
    }
  }

  boolean covers(Share other) {
    return memoryBytes >= other.memoryBytes && computeBasisPoints >= other.computeBasisPoints;
  }

  /**
   * What is left without {@code other}.
   *
   * @throws IllegalArgumentException if that is more than there is
   */
  Share minus(Share other) {
    return new Share(
        memoryBytes - other.memoryBytes, computeBasisPoints - other.computeBasisPoints);
  }

  Share plus(Share other) {
    return new Share(
        Math.addExact(memoryBytes, other.memoryBytes),
        computeBasisPoints + other.computeBasisPoints);
  }

  /** What is left without {@code other}, nothing where it is more. */
  Share less(Share other) {
    return new Share(
        Math.max(0, memoryBytes - other.memoryBytes),
        Math.max(0, computeBasisPoints - other.computeBasisPoints));
  }

  /** The larger of both in each. */
  Share max(Share other) {
    return new Share(
        Math.max(memoryBytes, other.memoryBytes),
        Math.max(computeBasisPoints, other.computeBasisPoints));
  }

  double computePercent() {
    return computeBasisPoints / 100.0;
  }

  @Override
  public String toString() {
    return new ByteSize(memoryBytes)
        + " and "
        + String.format(Locale.ROOT, "%.4g", computePercent()).replaceAll("\\.?0+$", "")
        + " % compute";
  }
}
