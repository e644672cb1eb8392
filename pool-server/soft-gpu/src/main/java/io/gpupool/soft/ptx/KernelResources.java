// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * The resources of a multiprocessor that a kernel takes, as {@code ptxas -v} lists them.
 *
 * @param registers registers a thread: an estimate from the kernel's length, between 16 and 255
 * @param staticSharedBytes shared memory a block, as far as the kernel declares it itself
 * @param localBytes local memory a thread
 */
public record KernelResources(int registers, int staticSharedBytes, int localBytes) {}
