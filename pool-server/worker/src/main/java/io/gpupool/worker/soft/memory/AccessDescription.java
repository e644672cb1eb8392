// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;

/**
 * A CUmemAccessDesc, 12 bytes: i32 location type, i32 location, i32 CUmemAccess_flags. Locations
 * are devices.
 */
record AccessDescription(int device, int flags) {
  private static final int BYTES = 12;
  private static final int LOCATION_DEVICE = 1;

  static AccessDescription read(long descriptions, long index) {
    long at = descriptions + index * BYTES;
    if (Memory.getInt(at) != LOCATION_DEVICE) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "memory of location type " + Memory.getInt(at));
    }
    return new AccessDescription(Memory.getInt(at + 4), Memory.getInt(at + 8));
  }
}
