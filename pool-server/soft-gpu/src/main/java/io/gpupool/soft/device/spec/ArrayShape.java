// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.texture.TexelFormat;

/**
 * The description of an array: CUDA_ARRAY3D_DESCRIPTOR.
 *
 * @param width in elements
 * @param height in rows; 0: one-dimensional
 * @param depth slices, layers or faces; 0: none
 * @param flags CUDA_ARRAY3D_...
 */
public record ArrayShape(int width, int height, int depth, TexelFormat format, int flags) {
  static final int LAYERED = 0x01;
  public static final int SURFACE = 0x02;
  static final int CUBEMAP = 0x04;
  private static final int GATHER = 0x08;
  private static final int KNOWN = LAYERED | SURFACE | CUBEMAP | GATHER;
  private static final int UNSUPPORTED = 0x1f0;
  private static final int FACES = 6;

  /**
   * Checks a descriptor.
   *
   * @throws GpuException INVALID_VALUE if there is no such array; NOT_SUPPORTED for depth textures,
   *     colour attachments, sparse arrays, deferred mapping and video
   */
  public static ArrayShape of(
      long width, long height, long depth, int cudaFormat, int channels, int flags) {
    TexelFormat format = TexelFormat.of(cudaFormat, channels);
    if ((flags & UNSUPPORTED) != 0) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED,
          "array flags 0x"
              + Integer.toHexString(flags & UNSUPPORTED)
              + ": no depth textures, colour attachments, sparse, deferred or video arrays");
    }
    boolean known = (flags & ~KNOWN) == 0;
    if (!known || !fits(width, height, depth, flags)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "there is no array of "
              + width
              + " x "
              + height
              + " x "
              + depth
              + " with flags 0x"
              + Integer.toHexString(flags));
    }
    return new ArrayShape((int) width, (int) height, (int) depth, format, flags);
  }

  private static boolean fits(long width, long height, long depth, int flags) {
    boolean layered = (flags & LAYERED) != 0;
    boolean surface = (flags & SURFACE) != 0;
    if ((flags & CUBEMAP) != 0) {
      boolean faces =
          layered ? depth % FACES == 0 && isIn(depth, TextureLimits.CUBE_LAYERS) : depth == FACES;
      return faces && width == height && isIn(width, TextureLimits.LAYERED_SIDE);
    }
    if (layered) {
      return isIn(depth, TextureLimits.LAYERS)
          && isIn(width, TextureLimits.LAYERED_SIDE)
          && (height == 0 || isIn(height, TextureLimits.LAYERED_SIDE));
    }
    if (depth != 0) {
      return isIn(width, TextureLimits.VOLUME_SIDE)
          && isIn(height, TextureLimits.VOLUME_SIDE)
          && isIn(depth, TextureLimits.VOLUME_SIDE);
    }
    if (height != 0) {
      int most = (flags & GATHER) != 0 ? TextureLimits.GATHER_SIDE : TextureLimits.PLANE_WIDTH;
      return isIn(width, most) && isIn(height, Math.min(most, TextureLimits.PLANE_HEIGHT));
    }
    return isIn(width, surface ? TextureLimits.SURFACE_LINE : TextureLimits.LINE)
        && (flags & GATHER) == 0;
  }

  private static boolean isIn(long extent, int most) {
    return extent >= 1 && extent <= most;
  }

  /** Whether the depth counts layers or faces. */
  public boolean hasLayers() {
    return (flags & (LAYERED | CUBEMAP)) != 0;
  }

  /** The shape of a level of a mipmapped array. */
  public ArrayShape level(int level) {
    return new ArrayShape(
        Math.max(1, width >> level),
        height == 0 ? 0 : Math.max(1, height >> level),
        depth == 0 || hasLayers() ? depth : Math.max(1, depth >> level),
        format,
        flags);
  }

  /** Levels until every extent is one. */
  public int mostLevels() {
    int longest = Math.max(width, Math.max(height, hasLayers() ? 1 : depth));
    return Integer.SIZE - Integer.numberOfLeadingZeros(longest);
  }

  public int rows() {
    return Math.max(1, height);
  }

  public int slices() {
    return Math.max(1, depth);
  }

  public long rowBytes() {
    return (long) width * format.bytes();
  }

  public long lengthBytes() {
    return rowBytes() * rows() * slices();
  }
}
