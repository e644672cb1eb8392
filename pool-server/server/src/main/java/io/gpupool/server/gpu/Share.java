// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

import io.gpupool.wire.ByteSize;
import io.gpupool.wire.ComputePercent;

/**
 * A part of a GPU that a lease has or that is free.
 *
 * @param computeBasisPoints hundredths of a percent of the GPU's time, 10,000 being all of it
 */
public record Share(long memoryBytes, int computeBasisPoints) {
  public static final int WHOLE_COMPUTE = 10_000;
  public static final int MIN_COMPUTE = 100;
  public static final long MIN_MEMORY_BYTES = 1L << 20;
  public static final Share NONE = new Share(0, 0);

  public Share {
    if (memoryBytes < 0 || computeBasisPoints < 0 || computeBasisPoints > WHOLE_COMPUTE) {
      throw new IllegalArgumentException(memoryBytes + " bytes, " + computeBasisPoints + " bp");
    }
  }

  public boolean covers(Share other) {
    return memoryBytes >= other.memoryBytes && computeBasisPoints >= other.computeBasisPoints;
  }

  /**
   * What is left without {@code other}.
   *
   * @throws IllegalArgumentException if that is more than there is
   */
  public Share minus(Share other) {
    return new Share(
        memoryBytes - other.memoryBytes, computeBasisPoints - other.computeBasisPoints);
  }

  public Share plus(Share other) {
    return new Share(
        Math.addExact(memoryBytes, other.memoryBytes),
        computeBasisPoints + other.computeBasisPoints);
  }

  /** What is left without {@code other}, nothing where it is more. */
  public Share less(Share other) {
    return new Share(
        Math.max(0, memoryBytes - other.memoryBytes),
        Math.max(0, computeBasisPoints - other.computeBasisPoints));
  }

  /** The larger of both in each. */
  public Share max(Share other) {
    return new Share(
        Math.max(memoryBytes, other.memoryBytes),
        Math.max(computeBasisPoints, other.computeBasisPoints));
  }

  public double computePercent() {
    return computeBasisPoints / 100.0;
  }

  /** What it comes to of some time. */
  public long nanosOf(long nanos) {
    return partOf(nanos, computeBasisPoints);
  }

  /** So many hundredths of a percent of some time, however long that is. */
  public static long partOf(long nanos, int basisPoints) {
    return nanos / WHOLE_COMPUTE * basisPoints
        + nanos % WHOLE_COMPUTE * basisPoints / WHOLE_COMPUTE;
  }

  @Override
  public String toString() {
    return new ByteSize(memoryBytes) + " and " + new ComputePercent(computePercent());
  }
}
