// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

/**
 * The model of a GPU, as its driver reports it.
 *
 * @param computeCapability for example {@code 9.0}
 * @param driverVersion as CUDA counts: 13000 is 13.0
 */
public record GpuModel(
    String name, long memoryBytes, String computeCapability, int driverVersion) {}
