// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * Blocks of a cluster.
 *
 * @param explicit whether the launch or the kernel asks for clusters
 */
public record ClusterShape(int x, int y, int z, boolean explicit) {
  /** Each block is a cluster. */
  public static final ClusterShape SINGLE = new ClusterShape(1, 1, 1, false);

  /** Number of blocks. */
  public int blocks() {
    return x * y * z;
  }
}
