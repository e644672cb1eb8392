// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

/**
 * A range of device addresses with memory.
 *
 * @param address where it begins
 * @param lengthBytes its length
 */
public record Extent(long address, long lengthBytes) {}
