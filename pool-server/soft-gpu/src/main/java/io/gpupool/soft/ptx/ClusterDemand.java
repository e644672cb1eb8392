// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * The requirements of a kernel on the clusters that it is launched in.
 *
 * @param x blocks of a cluster by {@code .reqnctapercluster}; 0 if that is for the launch to say
 * @param maxBlocks by {@code .maxclusterrank}; 0 for no limit of its own
 * @param explicit whether it is only launched in clusters: {@code .explicitcluster}
 */
public record ClusterDemand(int x, int y, int z, int maxBlocks, boolean explicit) {
  /** Of a kernel that says nothing. */
  public static final ClusterDemand NONE = new ClusterDemand(0, 0, 0, 0, false);

  /** Whether the kernel itself says how many blocks a cluster has. */
  public boolean isFixed() {
    return x > 0;
  }

  public ClusterDemand withSize(int newX, int newY, int newZ) {
    return new ClusterDemand(newX, newY, newZ, maxBlocks, explicit);
  }

  public ClusterDemand withMaxBlocks(int blocks) {
    return new ClusterDemand(x, y, z, blocks, explicit);
  }

  public ClusterDemand asExplicit() {
    return new ClusterDemand(x, y, z, maxBlocks, true);
  }
}
