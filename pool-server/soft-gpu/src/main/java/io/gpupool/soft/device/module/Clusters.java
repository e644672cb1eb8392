// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.ptx.ClusterDemand;

/** The clusters of a launch, by its own attributes and the kernel's. */
final class Clusters {
  /** The largest cluster of any card. */
  static final int MAX_BLOCKS = 16;

  /** The largest cluster that all cards with clusters have. */
  static final int PORTABLE_BLOCKS = 8;

  private Clusters() {}

  /**
   * The clusters of a launch.
   *
   * @throws GpuException INVALID_CLUSTER_SIZE; NOT_SUPPORTED below compute capability 9.0
   */
  static ClusterShape of(SoftFunction function, LaunchShape launch) {
    ClusterShape fixed = function.requiredCluster();
    ClusterShape asked = launch.cluster();
    if (fixed.explicit() && asked.explicit() && !fixed.equals(asked)) {
      throw invalid(function, text(asked) + " blocks, where the kernel requires " + text(fixed));
    }
    ClusterShape cluster = fixed.explicit() ? fixed : asked;
    if (function.info().cluster().explicit() && !cluster.explicit()) {
      throw new GpuException(
          CudaStatus.INVALID_CLUSTER_SIZE,
          "kernel "
              + function.info().name()
              + " is launched in clusters only, and nothing says of how many blocks"
              + " (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)");
    }
    int longest = Math.max(cluster.x(), Math.max(cluster.y(), cluster.z()));
    if (longest > MAX_BLOCKS || cluster.blocks() > MAX_BLOCKS) {
      throw invalid(function, text(cluster) + " blocks, of " + MAX_BLOCKS + " at most");
    }
    int blocks = cluster.blocks();
    if (blocks == 1 || function.isSkipped()) {
      return blocks == 1 ? cluster : ClusterShape.SINGLE;
    }
    if (function.context().device().computeCapability() < ComputeLimits.CLUSTER_CAPABILITY) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "clusters need compute capability 9.0 (soft:1,cc=9.0)");
    }
    int most = mostBlocks(function);
    if (blocks > most) {
      throw invalid(
          function,
          text(cluster)
              + " blocks, of "
              + most
              + " at most"
              + (most == PORTABLE_BLOCKS
                  ? "; more need CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
                  : ""));
    }
    if (launch.grid().x() % cluster.x() != 0
        || launch.grid().y() % cluster.y() != 0
        || launch.grid().z() % cluster.z() != 0) {
      throw invalid(function, text(cluster) + " blocks, of which the grid is no multiple");
    }
    return cluster;
  }

  /** Blocks of the largest cluster that a kernel may be launched in. */
  static int mostBlocks(SoftFunction function) {
    if (function.context().device().computeCapability() < ComputeLimits.CLUSTER_CAPABILITY) {
      return 1;
    }
    ClusterDemand demand = function.info().cluster();
    int most = function.allowsNonPortableClusters() ? MAX_BLOCKS : PORTABLE_BLOCKS;
    return demand.maxBlocks() > 0 ? Math.min(most, demand.maxBlocks()) : most;
  }

  private static String text(ClusterShape cluster) {
    return cluster.x() + " x " + cluster.y() + " x " + cluster.z();
  }

  private static GpuException invalid(SoftFunction function, String problem) {
    return new GpuException(
        CudaStatus.INVALID_CLUSTER_SIZE,
        "kernel " + function.info().name() + ": a cluster of " + problem);
  }
}
