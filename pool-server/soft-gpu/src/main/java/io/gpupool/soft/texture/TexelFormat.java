// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/**
 * The composition of a texture element.
 *
 * @param channels 1, 2 or 4
 * @param normalized integers stand for numbers from 0 or -1 to 1, however they are read
 */
public record TexelFormat(ChannelType type, int channels, boolean normalized) {
  private static final int FIRST_NORMALIZED = 0xc0;
  private static final int LAST_NORMALIZED = 0xcb;
  private static final int MOST_PLAIN = 0x20;

  /**
   * The format of a CUarray_format.
   *
   * @throws GpuException INVALID_VALUE; NOT_SUPPORTED for compressed, packed and video formats
   */
  public static TexelFormat of(int cudaFormat, int channels) {
    if (channels != 1 && channels != 2 && channels != 4) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, channels + " channels an element; CUDA has 1, 2 and 4");
    }
    if (cudaFormat >= FIRST_NORMALIZED && cudaFormat <= LAST_NORMALIZED) {
      return normalized(cudaFormat - FIRST_NORMALIZED, channels);
    }
    return new TexelFormat(plain(cudaFormat), channels, false);
  }

  private static TexelFormat normalized(int index, int channels) {
    if (channels != 1 << index % 3) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "array format 0x"
              + Integer.toHexString(FIRST_NORMALIZED + index)
              + " has "
              + (1 << index % 3)
              + " channels, not "
              + channels);
    }
    ChannelType type =
        switch (index / 3) {
          case 0 -> ChannelType.UNSIGNED_8;
          case 1 -> ChannelType.UNSIGNED_16;
          case 2 -> ChannelType.SIGNED_8;
          default -> ChannelType.SIGNED_16;
        };
    return new TexelFormat(type, channels, true);
  }

  private static ChannelType plain(int cudaFormat) {
    return switch (cudaFormat) {
      case 0x01 -> ChannelType.UNSIGNED_8;
      case 0x02 -> ChannelType.UNSIGNED_16;
      case 0x03 -> ChannelType.UNSIGNED_32;
      case 0x08 -> ChannelType.SIGNED_8;
      case 0x09 -> ChannelType.SIGNED_16;
      case 0x0a -> ChannelType.SIGNED_32;
      case 0x10 -> ChannelType.HALF;
      case MOST_PLAIN -> ChannelType.FLOAT;
      default ->
          throw new GpuException(
              cudaFormat > MOST_PLAIN ? CudaStatus.NOT_SUPPORTED : CudaStatus.INVALID_VALUE,
              "array format 0x"
                  + Integer.toHexString(cudaFormat)
                  + " is none of integers, halves and floats");
    };
  }

  /**
   * The format of a CUresourceViewFormat other than none.
   *
   * @throws GpuException INVALID_VALUE; NOT_SUPPORTED for compressed formats
   */
  public static TexelFormat ofView(int viewFormat) {
    if (viewFormat < 1 || viewFormat > 0x22) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no view format " + viewFormat);
    }
    if (viewFormat > 0x18) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "view format " + viewFormat + " is a compressed one");
    }
    ChannelType type =
        switch ((viewFormat - 1) / 3) {
          case 0 -> ChannelType.UNSIGNED_8;
          case 1 -> ChannelType.SIGNED_8;
          case 2 -> ChannelType.UNSIGNED_16;
          case 3 -> ChannelType.SIGNED_16;
          case 4 -> ChannelType.UNSIGNED_32;
          case 5 -> ChannelType.SIGNED_32;
          case 6 -> ChannelType.HALF;
          default -> ChannelType.FLOAT;
        };
    return new TexelFormat(type, 1 << (viewFormat - 1) % 3, false);
  }

  /** Whether kernels get floats; integers says that they are to get integers as they are. */
  public boolean isReadAsFloat(boolean integers) {
    return normalized
        || type.kind() == ChannelType.Kind.FLOAT
        || !integers && type.canBeNormalized();
  }

  /** Bytes of an element. */
  public int bytes() {
    return type.bytes() * channels;
  }
}
