// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;

/**
 * The facts about a kernel that are known before it is compiled.
 *
 * @param paramBytes length of the parameter block
 * @param staticSharedBytes shared memory the kernel declares itself
 * @param localBytes local memory a thread
 * @param maxThreadsPerBlock from {@code .maxntid}, else 1024
 * @param registers an estimate from the declared registers, between 16 and 255
 * @param ptxVersion 10 * major + minor of {@code .version}
 * @param cluster what it says of clusters
 * @param target number in {@code .target sm_NN}
 */
public record KernelInfo(
    String name,
    List<ParamInfo> params,
    int paramBytes,
    int staticSharedBytes,
    int localBytes,
    int maxThreadsPerBlock,
    int registers,
    int ptxVersion,
    ClusterDemand cluster,
    int target) {}
