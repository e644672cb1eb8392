// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.elasticity;

/**
 * A request that waits for GPUs.
 *
 * @param gpus how many, fractions counting as such
 * @param model which will do, as it was asked for; empty: any
 */
public record Demand(double gpus, String model, long waitedMillis) {}
