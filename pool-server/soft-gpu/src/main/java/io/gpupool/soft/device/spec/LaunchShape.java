// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.ClusterShape;

/**
 * The shape of a launch as a program asks for it; nothing of it is checked yet.
 *
 * @param dynamicSharedBytes shared memory a block on top of what the kernel declares
 * @param cooperative all blocks must be able to wait for each other
 * @param cluster blocks of a cluster, explicit if the program says so
 */
public record LaunchShape(
    Dim3 grid, Dim3 block, int dynamicSharedBytes, boolean cooperative, ClusterShape cluster) {
  /** Returns a launch that says nothing of clusters. */
  public LaunchShape(Dim3 grid, Dim3 block, int dynamicSharedBytes, boolean cooperative) {
    this(grid, block, dynamicSharedBytes, cooperative, ClusterShape.SINGLE);
  }

  /** Returns the same launch, cooperative or not. */
  public LaunchShape cooperative(boolean newCooperative) {
    return new LaunchShape(grid, block, dynamicSharedBytes, newCooperative, cluster);
  }

  /** Returns the same launch in clusters. */
  public LaunchShape inClusters(ClusterShape newCluster) {
    return new LaunchShape(grid, block, dynamicSharedBytes, cooperative, newCluster);
  }
}
