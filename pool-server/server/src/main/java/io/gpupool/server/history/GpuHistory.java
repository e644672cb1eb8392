// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import java.util.List;

/**
 * What a GPU's time and memory went to, as one caller may see it.
 *
 * @param memoryBytes size of the GPU's memory
 * @param nowMillis when it was asked, since 1970
 * @param samples the oldest first
 */
public record GpuHistory(
    String gpu, long memoryBytes, Window window, long nowMillis, List<Sample> samples) {
  public GpuHistory {
    samples = List.copyOf(samples);
  }
}
