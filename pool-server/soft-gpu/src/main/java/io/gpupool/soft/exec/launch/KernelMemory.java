// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * The memory that the code of a kernel needs.
 *
 * @param paramBytes length of the parameter block that it reads
 * @param staticSharedBytes shared memory a block, before dynamic shared memory
 * @param localBytes local memory a thread and active function, inlined functions included
 * @param frameBytes room a waiting thread and active function for its registers
 * @param maxDepth how many functions may be active at once; each has local memory and a frame
 */
public record KernelMemory(
    int paramBytes, int staticSharedBytes, int localBytes, int frameBytes, int maxDepth) {}
