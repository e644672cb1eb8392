// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.work.Copying;
import io.gpupool.soft.exec.launch.DeviceTime;
import java.lang.foreign.MemorySegment;

/**
 * Three-dimensional region of bytes in device memory, in an array or on the host.
 *
 * @param bytes from the first byte of the box to the last
 * @param pitchBytes from row to row
 * @param sliceBytes from slice to slice
 */
public record PitchedRegion(MemorySegment bytes, long pitchBytes, long sliceBytes, Extent extent) {
  /**
   * The size of a box; none is empty.
   *
   * @param width in bytes
   * @param height in rows
   * @param depth in slices
   */
  public record Extent(long width, long height, long depth) {
    /**
     * Checks the size.
     *
     * @throws GpuException INVALID_VALUE if something is below 1 or there are too many bytes
     */
    public Extent {
      if (width < 1 || height < 1 || depth < 1) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE, "a box of " + width + " x " + height + " x " + depth);
      }
      multiply(multiply(width, height), depth);
    }

    public long lengthBytes() {
      return width * height * depth;
    }

    /**
     * The bytes from the first of the box to the last.
     *
     * @throws GpuException INVALID_VALUE if rows or slices overlap, or there are too many bytes
     */
    public long span(long pitchBytes, long sliceBytes) {
      if (height > 1 && pitchBytes < width || depth > 1 && sliceBytes < multiply(height, width)) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE,
            "pitch " + pitchBytes + " and slices of " + sliceBytes + " bytes for rows of " + width);
      }
      long slices = multiply(depth - 1, sliceBytes);
      long most = multiply(height, Math.max(width, pitchBytes));
      if (slices > Long.MAX_VALUE - most) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "more bytes than there can be");
      }
      return slices + multiply(height - 1, pitchBytes) + width;
    }
  }

  /** Memory of the host. */
  public static PitchedRegion ofHost(
      long address, long pitchBytes, long sliceBytes, Extent extent) {
    MemorySegment bytes =
        MemorySegment.ofAddress(address).reinterpret(extent.span(pitchBytes, sliceBytes));
    return new PitchedRegion(bytes, pitchBytes, sliceBytes, extent);
  }

  /** Rows one after the other. */
  public static PitchedRegion tight(MemorySegment bytes, Extent extent) {
    return new PitchedRegion(bytes, extent.width, extent.width * extent.height, extent);
  }

  /** Copies all rows to a box of the same size. */
  void copyTo(DeviceTime time, PitchedRegion target) {
    if (isTight() && target.isTight()) {
      Copying.copy(time, bytes, target.bytes);
      return;
    }
    for (long z = 0; z < extent.depth; z++) {
      for (long y = 0; y < extent.height; y++) {
        Copying.copy(time, row(y, z), target.row(y, z));
      }
    }
  }

  private boolean isTight() {
    return bytes.byteSize() == extent.lengthBytes();
  }

  private MemorySegment row(long y, long z) {
    return bytes.asSlice(z * sliceBytes + y * pitchBytes, extent.width);
  }

  private static long multiply(long one, long other) {
    try {
      return Math.multiplyExact(one, other);
    } catch (ArithmeticException e) {
      throw new GpuException(CudaStatus.INVALID_VALUE, one + " x " + other + " bytes");
    }
  }
}
