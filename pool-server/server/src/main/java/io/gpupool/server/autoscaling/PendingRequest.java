// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

/**
 * A request that waits for GPUs.
 *
 * @param gpus how many; fractions count as such
 * @param model the requested model; empty: any
 */
public record PendingRequest(double gpus, String model, long waitedMillis) {}
