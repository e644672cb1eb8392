// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.register;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.ClusterShape;

/**
 * The special registers that tell a block's place in its cluster, and its cluster's in the grid.
 * Called by generated code, with the number of an axis.
 */
public final class ClusterRegisters {
  private ClusterRegisters() {}

  private static int size(ThreadBlock block, int axis) {
    ClusterShape shape = block.cluster().shape();
    return axis == 0 ? shape.x() : axis == 1 ? shape.y() : shape.z();
  }

  private static int place(ThreadBlock block, int axis) {
    return axis == 0 ? block.ctaidX : axis == 1 ? block.ctaidY : block.ctaidZ;
  }

  private static int grid(ThreadBlock block, int axis) {
    return axis == 0 ? block.nctaidX : axis == 1 ? block.nctaidY : block.nctaidZ;
  }

  public static int clusterid(ThreadBlock block, int axis) {
    return place(block, axis) / size(block, axis);
  }

  public static int nclusterid(ThreadBlock block, int axis) {
    return grid(block, axis) / size(block, axis);
  }

  public static int ctaid(ThreadBlock block, int axis) {
    return place(block, axis) % size(block, axis);
  }

  public static int nctaid(ThreadBlock block, int axis) {
    return size(block, axis);
  }

  public static int ctarank(ThreadBlock block) {
    return block.clusterRank();
  }

  public static int nctarank(ThreadBlock block) {
    return block.cluster().shape().blocks();
  }

  public static int isExplicit(ThreadBlock block) {
    return block.cluster().shape().explicit() ? 1 : 0;
  }
}
