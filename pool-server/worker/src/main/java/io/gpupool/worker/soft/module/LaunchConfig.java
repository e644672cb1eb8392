// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.worker.os.Memory;

/**
 * A CUlaunchConfig.
 *
 * <pre>
 * CUlaunchConfig                          CUlaunchAttribute (72 bytes)
 *  0 u32 grid x, y, z   12 u32 block x, y, z   0 i32 id   8 value, 64 bytes
 * 24 u32 dynamic shared bytes
 * 32 u64 stream   40 u64 attributes   48 u32 number of attributes
 * </pre>
 */
public record LaunchConfig(LaunchShape shape, long stream) {
  private static final int ATTRIBUTE_BYTES = 72;
  private static final int ATTRIBUTE_VALUE = 8;
  private static final int MAX_ATTRIBUTES = 64;

  private static final int COOPERATIVE = 2;
  private static final int CLUSTER_DIMENSION = 4;
  private static final int PROGRAMMATIC_EVENT = 7;
  private static final int LAUNCH_COMPLETION_EVENT = 12;
  private static final int DEVICE_UPDATABLE_NODE = 13;
  private static final int LAST_HINT = 16;

  static LaunchConfig read(long config) {
    int count = Memory.getInt(config + 48);
    long attributes = Memory.getLong(config + 40);
    if (count < 0 || count > MAX_ATTRIBUTES || (count > 0 && attributes == 0)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, count + " launch attributes");
    }
    boolean cooperative = false;
    ClusterShape cluster = ClusterShape.SINGLE;
    for (int index = 0; index < count; index++) {
      long attribute = attributes + (long) index * ATTRIBUTE_BYTES;
      int id = Memory.getInt(attribute);
      long value = attribute + ATTRIBUTE_VALUE;
      switch (id) {
        case COOPERATIVE -> cooperative = Memory.getInt(value) != 0;
        case CLUSTER_DIMENSION -> cluster = cluster(value);
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
            dim3(config), dim3(config + 12), Memory.getInt(config + 24), cooperative, cluster);
    return new LaunchConfig(shape, Memory.getLong(config + 32));
  }

  /** Reads the extents of a grid or block. */
  public static Dim3 dim3(long at) {
    return new Dim3(Memory.getInt(at), Memory.getInt(at + 4), Memory.getInt(at + 8));
  }

  /**
   * Reads the value of the attribute that gives the clusters of a launch.
   *
   * @throws GpuException INVALID_VALUE
   */
  public static ClusterShape cluster(long value) {
    Dim3 blocks = dim3(value);
    if (blocks.x() < 1 || blocks.y() < 1 || blocks.z() < 1) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "clusters of " + blocks.x() + " x " + blocks.y() + " x " + blocks.z() + " blocks");
    }
    return new ClusterShape(blocks.x(), blocks.y(), blocks.z(), true);
  }
}
