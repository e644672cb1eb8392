// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * What the webhook is told about cluster and pool.
 *
 * @param gates whether the cluster has scheduling gates (Kubernetes 1.27 and later)
 * @param gpuMemoryBytes of a GPU of the pool, of the largest where they differ, over 0; empty: the
 *     pool has not told yet. Asked for once a review, by any thread
 */
public record Settings(boolean gates, Supplier<OptionalLong> gpuMemoryBytes) {}
