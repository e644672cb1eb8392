// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import java.util.List;

/**
 * The history of a GPU's time and memory, as one caller may see it.
 *
 * @param memoryBytes size of the GPU's memory
 * @param nowMillis when it was read, since 1970
 * @param samples oldest first
 */
public record GpuHistory(
    String gpu, long memoryBytes, Window window, long nowMillis, List<Sample> samples) {
  public GpuHistory {
    samples = List.copyOf(samples);
  }
}
