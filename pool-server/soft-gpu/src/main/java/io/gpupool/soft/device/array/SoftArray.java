// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.PitchedRegion;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.soft.texture.Texels;

/**
 * An array, or a level of a mipmapped one: its elements lie row after row. Any thread may use it.
 */
public final class SoftArray {
  private final SoftContext context;
  private final ArrayShape shape;
  private final long address;
  private final boolean level;
  private final Texels texels;
  private boolean destroyed;

  private SoftArray(SoftContext context, ArrayShape shape, long address, boolean level) {
    this.context = context;
    this.shape = shape;
    this.address = address;
    this.level = level;
    texels =
        new Texels(
            context.view(address, shape.lengthBytes()),
            shape.format(),
            shape.width(),
            shape.rows(),
            shape.slices(),
            shape.rowBytes());
  }

  /**
   * Makes an array; its contents are arbitrary.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  public static SoftArray create(SoftContext context, ArrayShape shape) {
    context.requireUsable();
    long address = context.device().allocate(shape.lengthBytes(), context.moduleData());
    return new SoftArray(context, shape, address, false);
  }

  /** An array in memory that belongs to a mipmapped one. */
  static SoftArray level(SoftContext context, ArrayShape shape, long address) {
    return new SoftArray(context, shape, address, true);
  }

  public SoftContext context() {
    return context;
  }

  public ArrayShape shape() {
    return shape;
  }

  Texels texels() {
    return texels;
  }

  /**
   * A box of its bytes.
   *
   * @param x in bytes
   * @throws GpuException INVALID_VALUE if it is not of whole elements, or not all in the array
   */
  public PitchedRegion rows(long x, long y, long z, PitchedRegion.Extent extent) {
    int element = shape.format().bytes();
    boolean inside =
        isWithin(x, extent.width(), shape.rowBytes())
            && isWithin(y, extent.height(), shape.rows())
            && isWithin(z, extent.depth(), shape.slices());
    if (!inside || x % element != 0 || extent.width() % element != 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          extent + " at (" + x + ", " + y + ", " + z + ") is no part of an array of " + shape);
    }
    long slice = shape.rowBytes() * shape.rows();
    long span = extent.span(shape.rowBytes(), slice);
    long start = address + z * slice + y * shape.rowBytes() + x;
    return new PitchedRegion(context.view(start, span), shape.rowBytes(), slice, extent);
  }

  private static boolean isWithin(long start, long length, long end) {
    return start >= 0 && length <= end && start <= end - length;
  }

  /**
   * Ends the array; its memory is freed when the context's work is done.
   *
   * @throws GpuException INVALID_VALUE for a level, INVALID_HANDLE if it has ended
   */
  public void destroy() {
    if (level) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "a level goes down with its mipmapped array");
    }
    synchronized (this) {
      if (destroyed) {
        throw new GpuException(CudaStatus.INVALID_HANDLE, "the array is destroyed");
      }
      destroyed = true;
    }
    context.freeWhenDone(address, texels::release);
  }
}
