// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.control.v1.GpuInfo;

/** The free share of a GPU in words, with the part that partitions reserve apart. */
final class FreeText {
  private FreeText() {}

  /** Returns the free memory. */
  static String memory(GpuInfo gpu) {
    long reserved = gpu.getFreePartitionMemoryBytes();
    return text(
        Amounts.bytes(gpu.getFreeMemoryBytes() - reserved), Amounts.bytes(reserved), reserved > 0);
  }

  /** Returns the free compute. */
  static String compute(GpuInfo gpu) {
    double reserved = gpu.getFreePartitionComputePercent();
    return text(
        Amounts.percent(gpu.getFreeComputePercent() - reserved),
        Amounts.percent(reserved),
        reserved > 0);
  }

  private static String text(String free, String reserved, boolean isReserved) {
    return isReserved ? free + " + " + reserved + " in partitions" : free;
  }
}
