// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;

/**
 * The facts about a kernel that are known before it is compiled.
 *
 * @param paramBytes length of the parameter block
 * @param resources the resources that it takes without dynamic shared memory
 * @param maxThreadsPerBlock from {@code .maxntid}, else 1024
 * @param cluster its demand on clusters
 * @param target number in {@code .target sm_NN}
 */
public record KernelInfo(
    String name,
    List<ParamInfo> params,
    int paramBytes,
    KernelResources resources,
    int maxThreadsPerBlock,
    ClusterDemand cluster,
    int target) {}
