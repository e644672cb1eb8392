// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/**
 * Shape of a launch as a program asks for it; nothing of it is checked yet.
 *
 * @param dynamicSharedBytes shared memory a block on top of what the kernel declares
 * @param cooperative all blocks must be able to wait for each other
 */
public record LaunchShape(
    int gridX,
    int gridY,
    int gridZ,
    int blockX,
    int blockY,
    int blockZ,
    int dynamicSharedBytes,
    boolean cooperative) {}
