// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import io.gpupool.soft.exec.launch.ClusterShape;

/**
 * Shape of a launch as a program asks for it; nothing of it is checked yet.
 *
 * @param dynamicSharedBytes shared memory a block on top of what the kernel declares
 * @param cooperative all blocks must be able to wait for each other
 * @param cluster blocks of a cluster, explicit if the program says so
 */
public record LaunchShape(
    int gridX,
    int gridY,
    int gridZ,
    int blockX,
    int blockY,
    int blockZ,
    int dynamicSharedBytes,
    boolean cooperative,
    ClusterShape cluster) {
  /** A launch that says nothing of clusters. */
  public LaunchShape(
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int dynamicSharedBytes,
      boolean cooperative) {
    this(
        gridX,
        gridY,
        gridZ,
        blockX,
        blockY,
        blockZ,
        dynamicSharedBytes,
        cooperative,
        ClusterShape.SINGLE);
  }

  /** The same launch, cooperative or not. */
  public LaunchShape cooperative(boolean newCooperative) {
    return new LaunchShape(
        gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedBytes, newCooperative, cluster);
  }

  /** The same launch in clusters. */
  public LaunchShape inClusters(ClusterShape newCluster) {
    return new LaunchShape(
        gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedBytes, cooperative, newCluster);
  }
}
