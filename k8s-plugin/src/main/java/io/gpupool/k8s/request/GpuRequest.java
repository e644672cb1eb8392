// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The request of one container.
 *
 * @param gpus how many, 1 to 64
 * @param size how much of each
 * @param computePercent of each GPU's time, 1 to 100; null: the same part as of the memory
 */
public record GpuRequest(int gpus, Size size, @Nullable Integer computePercent) {
  public static final int MAX_GPUS = 64;
  public static final long MIN_MEMORY_BYTES = 1L << 20;

  /** The largest integer that JSON numbers hold exactly everywhere. */
  public static final long MAX_MEMORY_BYTES = (1L << 53) - 1;

  public static final BigDecimal MIN_FRACTION = new BigDecimal("0.01");
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

  /** The part of a GPU. */
  public sealed interface Size {
    /** A part of its memory and time, 0.01 to 1. */
    record Fraction(BigDecimal part) implements Size {
      public Fraction {
        if (part.compareTo(MIN_FRACTION) < 0 || part.compareTo(BigDecimal.ONE) > 0) {
          throw new IllegalArgumentException("a fraction of " + part);
        }
        part = part.stripTrailingZeros();
      }
    }

    /** An amount of its memory. */
    record Memory(long bytes) implements Size {
      public Memory {
        if (bytes < MIN_MEMORY_BYTES || bytes > MAX_MEMORY_BYTES) {
          throw new IllegalArgumentException(bytes + " bytes");
        }
      }
    }
  }

  public GpuRequest {
    if (gpus < 1 || gpus > MAX_GPUS) {
      throw new IllegalArgumentException(gpus + " GPUs");
    }
    if (computePercent != null && (computePercent < 1 || computePercent > 100)) {
      throw new IllegalArgumentException(computePercent + " percent of compute");
    }
  }

  /**
   * Returns the count in hundredths of GPUs: for each GPU the larger of its memory and its time,
   * rounded up.
   *
   * @param gpuMemoryBytes of a GPU of the pool
   */
  public long percent(long gpuMemoryBytes) {
    BigDecimal memory =
        switch (size) {
          case Size.Fraction(BigDecimal part) ->
              part.multiply(HUNDRED).setScale(0, RoundingMode.CEILING);
          case Size.Memory(long bytes) ->
              BigDecimal.valueOf(bytes)
                  .multiply(HUNDRED)
                  .divide(BigDecimal.valueOf(gpuMemoryBytes), 0, RoundingMode.CEILING);
        };
    return gpus * Math.max(memory.longValueExact(), Objects.requireNonNullElse(computePercent, 0));
  }

  /** Returns whether the count depends on how much memory GPUs have. */
  public boolean countDependsOnGpu() {
    return size instanceof Size.Memory;
  }

  GpuRequest withGpus(int others) {
    return new GpuRequest(others, size, computePercent);
  }
}
