// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import java.util.function.LongSupplier;

/**
 * What the webhook is told about cluster and pool.
 *
 * @param gates whether the cluster has scheduling gates (Kubernetes 1.27 and later)
 * @param gpuMemoryBytes of a GPU of the pool, of the largest where they differ; asked for once a
 *     review, by any thread; over 0
 */
public record Settings(boolean gates, LongSupplier gpuMemoryBytes) {}
