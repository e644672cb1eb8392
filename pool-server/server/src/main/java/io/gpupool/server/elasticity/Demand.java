// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.elasticity;

/**
 * A request that waits for GPUs.
 *
 * @param gpus how many; fractions count as such
 * @param model the requested model; empty: any
 */
public record Demand(double gpus, String model, long waitedMillis) {}
