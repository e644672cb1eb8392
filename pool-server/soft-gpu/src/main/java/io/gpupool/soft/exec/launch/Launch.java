// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * Shape of one launch; the caller has checked it against the device's limits.
 *
 * @param dynamicSharedBytes shared memory a block on top of what the kernel declares
 * @param cooperative all blocks must be able to wait for each other
 * @param cluster the grid is a multiple of it
 */
public record Launch(
    int gridX,
    int gridY,
    int gridZ,
    int blockX,
    int blockY,
    int blockZ,
    int dynamicSharedBytes,
    boolean cooperative,
    ClusterShape cluster) {
  private static final int MAX_THREADS = 1024;

  public Launch {
    if (gridX < 1 || gridY < 1 || gridZ < 1 || blockX < 1 || blockY < 1 || blockZ < 1) {
      throw new IllegalArgumentException("a grid or block extent is below 1");
    }
    if ((long) blockX * blockY * blockZ > MAX_THREADS) {
      throw new IllegalArgumentException("more than " + MAX_THREADS + " threads a block");
    }
    if (dynamicSharedBytes < 0) {
      throw new IllegalArgumentException("negative shared memory: " + dynamicSharedBytes);
    }
    Math.multiplyExact(Math.multiplyExact((long) gridX, gridY), gridZ);
    if (gridX % cluster.x() != 0 || gridY % cluster.y() != 0 || gridZ % cluster.z() != 0) {
      throw new IllegalArgumentException("the grid is no multiple of its clusters");
    }
  }

  /** A launch without clusters. */
  public Launch(
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

  /** Number of blocks. */
  public long blocks() {
    return (long) gridX * gridY * gridZ;
  }
}
