// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.BlockTime;
import io.gpupool.soft.exec.launch.KernelMemory;
import io.gpupool.soft.exec.launch.RegionTable;

/**
 * A kernel ready to run. Dropping it lets its class unload.
 *
 * @param name the kernel's PTX name
 * @param code the generated class
 * @param waits whether its threads may wait for each other
 * @param memory the memory that its blocks and threads need
 * @param regions the regions in which its threads may run together
 * @param blockTime the time that its blocks took, the one thing that changes
 */
public record CompiledKernel(
    String name,
    KernelCode code,
    boolean waits,
    KernelMemory memory,
    RegionTable regions,
    BlockTime blockTime) {}
