// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * A fault that takes a GPU out of scheduling. It is deleted when the GPU's server leaves the pool.
 *
 * @param problem what is wrong, for people
 * @param sinceMillis since 1970
 */
public record GpuFault(String problem, long sinceMillis) {}
