// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.BlockTime;
import io.gpupool.soft.exec.launch.RegionTable;

/**
 * A kernel ready to run. Dropping it lets its class unload.
 *
 * @param name the kernel's PTX name
 * @param code the generated class
 * @param waits whether its threads may wait for each other
 * @param paramBytes length of the parameter block that its code reads
 * @param staticSharedBytes shared memory a block, before dynamic shared memory
 * @param localBytes local memory a thread, inlined functions included
 * @param frameBytes what a waiting thread needs to keep its registers
 * @param maxDepth how many functions may be active at once; each has local memory and a frame
 * @param regions what is to be known for running threads together
 * @param blockTime how long its blocks took, the one thing that changes
 */
public record CompiledKernel(
    String name,
    KernelCode code,
    boolean waits,
    int paramBytes,
    int staticSharedBytes,
    int localBytes,
    int frameBytes,
    int maxDepth,
    RegionTable regions,
    BlockTime blockTime) {}
