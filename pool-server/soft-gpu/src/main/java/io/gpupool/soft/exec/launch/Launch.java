// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import io.gpupool.soft.Dim3;

/**
 * The shape of one launch; the caller has checked it against the device's limits.
 *
 * @param dynamicSharedBytes shared memory a block on top of what the kernel declares
 * @param cooperative all blocks must be able to wait for each other
 * @param cluster the grid is a multiple of it
 */
public record Launch(
    Dim3 grid, Dim3 block, int dynamicSharedBytes, boolean cooperative, ClusterShape cluster) {
  private static final int MAX_THREADS = 1024;

  public Launch {
    requirePositive(grid);
    requirePositive(block);
    if (block.count() > MAX_THREADS) {
      throw new IllegalArgumentException("more than " + MAX_THREADS + " threads a block");
    }
    if (dynamicSharedBytes < 0) {
      throw new IllegalArgumentException("negative shared memory: " + dynamicSharedBytes);
    }
    Math.multiplyExact(Math.multiplyExact((long) grid.x(), grid.y()), grid.z());
    if (grid.x() % cluster.x() != 0 || grid.y() % cluster.y() != 0 || grid.z() % cluster.z() != 0) {
      throw new IllegalArgumentException("the grid is no multiple of its clusters");
    }
  }

  /** Returns a launch without clusters. */
  public Launch(Dim3 grid, Dim3 block, int dynamicSharedBytes, boolean cooperative) {
    this(grid, block, dynamicSharedBytes, cooperative, ClusterShape.SINGLE);
  }

  private static void requirePositive(Dim3 extents) {
    if (extents.x() < 1 || extents.y() < 1 || extents.z() < 1) {
      throw new IllegalArgumentException("a grid or block extent is below 1");
    }
  }

  /** Returns the number of blocks. */
  public long blocks() {
    return grid.count();
  }
}
