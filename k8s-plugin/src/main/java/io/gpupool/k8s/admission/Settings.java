// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The webhook's knowledge of cluster and pool.
 *
 * @param gates whether the cluster has scheduling gates (Kubernetes 1.27 and later)
 * @param gpuMemoryBytes memory of a GPU of the pool, of the largest if they differ, over 0; empty:
 *     the pool has not reported it yet. Called once per review, by any thread
 */
public record Settings(boolean gates, Supplier<OptionalLong> gpuMemoryBytes) {
  /** Returns the memory of the pool's largest GPU; null: the pool has not reported it yet. */
  @Nullable Long largestGpuBytes() {
    OptionalLong bytes = gpuMemoryBytes.get();
    return bytes.isPresent() ? Long.valueOf(bytes.getAsLong()) : null;
  }
}
