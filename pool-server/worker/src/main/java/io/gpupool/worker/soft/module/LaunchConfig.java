// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.CudaStatus;
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
            Memory.getInt(config),
            Memory.getInt(config + 4),
            Memory.getInt(config + 8),
            Memory.getInt(config + 12),
            Memory.getInt(config + 16),
            Memory.getInt(config + 20),
            Memory.getInt(config + 24),
            cooperative,
            cluster);
    return new LaunchConfig(shape, Memory.getLong(config + 32));
  }

  /**
   * The value of the attribute that says what clusters a launch is made in.
   *
   * @throws GpuException INVALID_VALUE
   */
  public static ClusterShape cluster(long value) {
    int x = Memory.getInt(value);
    int y = Memory.getInt(value + 4);
    int z = Memory.getInt(value + 8);
    if (x < 1 || y < 1 || z < 1) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "clusters of " + x + " x " + y + " x " + z + " blocks");
    }
    return new ClusterShape(x, y, z, true);
  }
}
