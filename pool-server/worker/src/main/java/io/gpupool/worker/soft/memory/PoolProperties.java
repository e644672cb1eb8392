// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;

/**
 * A CUmemPoolProps: i32 allocation type, i32 handle types, i32 location type, i32 location, u64
 * security attributes, u64 most bytes, u16 usage, reserved.
 */
record PoolProperties(int device, long maxBytes, boolean shareable) {
  private static final int PINNED = 1;
  private static final int HANDLE_DESCRIPTOR = 1;
  private static final int LOCATION_DEVICE = 1;

  static PoolProperties read(long props) {
    if (Memory.getInt(props) != PINNED) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a pool of type " + Memory.getInt(props));
    }
    int handleTypes = Memory.getInt(props + 4);
    boolean known = (handleTypes & ~HANDLE_DESCRIPTOR) == 0;
    if (!known || Memory.getInt(props + 8) != LOCATION_DEVICE) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED,
          "a pool with handles that are no descriptors, or of memory on no device");
    }
    return new PoolProperties(
        Memory.getInt(props + 12), Memory.getLong(props + 24), handleTypes != 0);
  }
}
