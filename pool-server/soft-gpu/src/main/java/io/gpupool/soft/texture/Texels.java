// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * Elements in memory: rows of one level of an array, or rows that the program has laid out. Kernels
 * read and write concurrently.
 */
public final class Texels {
  /** All memory: reads from what is known when this is compiled are fast. */
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  /** User addresses have 47 bits; the mask lets the compiler drop bounds checks. */
  private static final long ADDRESS = 0x7FFF_FFFF_FFFFL;

  private final MemorySegment bytes;
  private final long start;
  private final long sizeBytes;
  private final TexelFormat format;
  private final boolean floats;
  private final int width;
  private final int height;
  private final int depth;
  private final long pitchBytes;
  private final Texels origin;
  private volatile boolean gone;

  /**
   * Describes elements.
   *
   * @param bytes from the first element to the last, whole rows
   * @param height rows of a slice, 1 or more
   * @param depth slices, layers or faces, 1 or more
   * @param pitchBytes from row to row; slices lie {@code height} rows apart
   */
  public Texels(
      MemorySegment bytes, TexelFormat format, int width, int height, int depth, long pitchBytes) {
    this.bytes = bytes;
    start = bytes.address();
    sizeBytes = bytes.byteSize();
    this.format = format;
    floats = format.type() == ChannelType.FLOAT;
    this.width = width;
    this.height = height;
    this.depth = depth;
    this.pitchBytes = pitchBytes;
    origin = this;
  }

  private Texels(Texels origin, TexelFormat format) {
    bytes = origin.bytes;
    start = origin.start;
    sizeBytes = origin.sizeBytes;
    this.format = format;
    floats = format.type() == ChannelType.FLOAT;
    width = origin.width;
    height = origin.height;
    depth = origin.depth;
    pitchBytes = origin.pitchBytes;
    this.origin = origin.origin;
  }

  /** The same elements, read in another format of the same length. */
  public Texels viewedAs(TexelFormat other) {
    return new Texels(this, other);
  }

  public TexelFormat format() {
    return format;
  }

  public int width() {
    return width;
  }

  public int height() {
    return height;
  }

  /** Slices, layers or faces. */
  public int depth() {
    return depth;
  }

  public long rowBytes() {
    return (long) width * format.bytes();
  }

  /** Where a row begins, in bytes from the first. */
  public long row(int y, int z) {
    return ((long) z * height + y) * pitchBytes;
  }

  /**
   * The native address of some bytes.
   *
   * @throws IndexOutOfBoundsException if not all of them are here
   */
  public long address(long offset, int lengthBytes) {
    return start + Objects.checkFromIndexSize(offset, lengthBytes, sizeBytes);
  }

  /** The memory is not theirs any more. */
  public void release() {
    gone = true;
  }

  public boolean isGone() {
    return origin.gone;
  }

  private long at(int x, int y, int z, int channel, int channelBytes) {
    long element = (long) x * format.channels() + channel;
    return address(row(y, z) + element * channelBytes, channelBytes);
  }

  /** The bits of a channel of an element, integers extended. */
  int bits(int x, int y, int z, int channel) {
    ChannelType type = format.type();
    long at = at(x, y, z, channel, type.bytes()) & ADDRESS;
    return switch (type) {
      case UNSIGNED_8 -> ALL.get(ValueLayout.JAVA_BYTE, at) & 0xff;
      case SIGNED_8 -> ALL.get(ValueLayout.JAVA_BYTE, at);
      case UNSIGNED_16, HALF -> ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) & 0xffff;
      case SIGNED_16 -> ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, at);
      case UNSIGNED_32, SIGNED_32, FLOAT -> ALL.get(ValueLayout.JAVA_INT_UNALIGNED, at);
    };
  }

  /** A channel as a number: floats as they are, integers from 0 or -1 to 1. */
  float value(int x, int y, int z, int channel) {
    if (floats) {
      long at = at(x, y, z, channel, Float.BYTES) & ADDRESS;
      return ALL.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
    }
    int bits = bits(x, y, z, channel);
    return switch (format.type()) {
      case UNSIGNED_8 -> bits / 255f;
      case UNSIGNED_16 -> bits / 65535f;
      case SIGNED_8 -> Math.max(bits / 127f, -1f);
      case SIGNED_16 -> Math.max(bits / 32767f, -1f);
      case HALF -> Float.float16ToFloat((short) bits);
      case UNSIGNED_32, SIGNED_32, FLOAT -> Float.intBitsToFloat(bits);
    };
  }
}
