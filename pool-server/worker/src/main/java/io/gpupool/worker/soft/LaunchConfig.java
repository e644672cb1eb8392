// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.LaunchShape;
import io.gpupool.soft.device.SoftFunction;
import io.gpupool.worker.os.Memory;

/**
 * A CUlaunchConfig.
 *
 * @param clusterBlocks blocks of a cluster; 1: none were asked for
 *     <pre>
 * CUlaunchConfig                          CUlaunchAttribute (72 bytes)
 *  0 u32 grid x, y, z   12 u32 block x, y, z   0 i32 id   8 value, 64 bytes
 * 24 u32 dynamic shared bytes
 * 32 u64 stream   40 u64 attributes   48 u32 number of attributes
 * </pre>
 */
record LaunchConfig(LaunchShape shape, long stream, int clusterBlocks) {
  private static final int ATTRIBUTE_BYTES = 72;
  private static final int ATTRIBUTE_VALUE = 8;
  private static final int MAX_ATTRIBUTES = 64;

  private static final int COOPERATIVE = 2;
  private static final int CLUSTER_DIMENSION = 4;
  private static final int PROGRAMMATIC_EVENT = 7;
  private static final int LAUNCH_COMPLETION_EVENT = 12;
  private static final int DEVICE_UPDATABLE_NODE = 13;
  private static final int LAST_HINT = 16;

  /** What a card of compute capability 9.0 and later allows, portably or not. */
  private static final int MAX_CLUSTER_BLOCKS = 16;

  static LaunchConfig read(long config) {
    int count = Memory.getInt(config + 48);
    long attributes = Memory.getLong(config + 40);
    if (count < 0 || count > MAX_ATTRIBUTES || (count > 0 && attributes == 0)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, count + " launch attributes");
    }
    boolean cooperative = false;
    int clusterBlocks = 1;
    for (int index = 0; index < count; index++) {
      long attribute = attributes + (long) index * ATTRIBUTE_BYTES;
      int id = Memory.getInt(attribute);
      long value = attribute + ATTRIBUTE_VALUE;
      switch (id) {
        case COOPERATIVE -> cooperative = Memory.getInt(value) != 0;
        case CLUSTER_DIMENSION -> clusterBlocks = clusterBlocks(value);
        case PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT, DEVICE_UPDATABLE_NODE ->
            throw new GpuException(
                CudaStatus.NOT_SUPPORTED, "launch attribute " + id + " is not supported");
        default -> {
          // The rest are hints on scheduling and caches, which may be passed over.
          if (id < 0 || id > LAST_HINT) {
            throw new GpuException(CudaStatus.INVALID_VALUE, "there is no launch attribute " + id);
          }
        }
      }
    }
    LaunchShape shape =
        new LaunchShape(
            Memory.getInt(config),
            Memory.getInt(config + 4),
            Memory.getInt(config + 8),
            Memory.getInt(config + 12),
            Memory.getInt(config + 16),
            Memory.getInt(config + 20),
            Memory.getInt(config + 24),
            cooperative);
    return new LaunchConfig(shape, Memory.getLong(config + 32), clusterBlocks);
  }

  /**
   * Refuses a launch in clusters of blocks, unless nothing runs.
   *
   * @throws GpuException NOT_SUPPORTED
   */
  void requireRunnable(SoftFunction function) {
    if (clusterBlocks > 1) {
      requireSkipped(function);
    }
    if (clusterBlocks > MAX_CLUSTER_BLOCKS) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "a cluster has " + MAX_CLUSTER_BLOCKS + " blocks at most");
    }
  }

  /** Whether clusters of this many blocks can be launched, if only to be passed over. */
  boolean isRunnable(SoftFunction function) {
    return clusterBlocks == 1 || (function.isSkipped() && clusterBlocks <= MAX_CLUSTER_BLOCKS);
  }

  static void requireSkipped(SoftFunction function) {
    if (!function.isSkipped()) {
      throw new GpuException(CudaStatus.NOT_SUPPORTED, "clusters of blocks are not supported");
    }
  }

  private static int clusterBlocks(long value) {
    long blocks = 1;
    for (int axis = 0; axis < 3; axis++) {
      // 0 stands for no cluster at all.
      blocks *= Math.clamp(Memory.getInt(value + 4L * axis), 1, MAX_CLUSTER_BLOCKS + 1);
    }
    return (int) Math.min(blocks, MAX_CLUSTER_BLOCKS + 1);
  }
}
