// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.array.SoftArray;
import io.gpupool.soft.device.context.PitchedRegion;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.Handles;

/**
 * A copy as a CUDA_MEMCPY3D describes it: two sides of 88 bytes, the source first, and the extent.
 */
final class BoxCopy {
  private static final int SOURCE = 0;
  private static final int DESTINATION = 88;
  private static final int EXTENT = 176;
  private static final int HOST = 1;
  private static final int DEVICE = 2;
  private static final int ARRAY = 3;

  private final Handles handles;
  private final long description;
  private final PitchedRegion.Extent extent;

  BoxCopy(Handles handles, long description) {
    this.handles = handles;
    this.description = description;
    long at = description + EXTENT;
    extent =
        new PitchedRegion.Extent(
            Memory.getLong(at), Memory.getLong(at + 8), Memory.getLong(at + 16));
  }

  /** Submits the copy; memory of the host that is read may be used again at once. */
  void submit(SoftStream stream) {
    PitchedRegion target = rows(stream, DESTINATION);
    PitchedRegion source = rows(stream, SOURCE);
    if (Memory.getInt(description + SOURCE + 32) == HOST) {
      stream.write(target, source);
    } else {
      stream.copy(target, source);
    }
  }

  private PitchedRegion rows(SoftStream stream, int side) {
    long at = description + side;
    long x = Memory.getLong(at);
    long y = Memory.getLong(at + 8);
    long z = Memory.getLong(at + 16);
    int type = Memory.getInt(at + 32);
    if (type == ARRAY) {
      return handles.get(Memory.getLong(at + 56), SoftArray.class).rows(x, y, z, extent);
    }
    long pitch = Memory.getLong(at + 72);
    long rows = Math.max(Memory.getLong(at + 80), y + extent.height());
    long offset = (z * rows + y) * pitch + x;
    return switch (type) {
      case HOST ->
          PitchedRegion.ofHost(Memory.getLong(at + 40) + offset, pitch, pitch * rows, extent);
      case DEVICE -> stream.context().rows(Memory.getLong(at + 48) + offset, pitch, rows, extent);
      default ->
          throw new GpuException(CudaStatus.INVALID_VALUE, "there is no memory type " + type);
    };
  }
}
