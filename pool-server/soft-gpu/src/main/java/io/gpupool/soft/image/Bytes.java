// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Little-endian reads from an image; whatever lies outside it makes the image invalid. */
record Bytes(MemorySegment segment) {
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  long length() {
    return segment.byteSize();
  }

  int u8(long offset) {
    require(offset, 1);
    return segment.get(ValueLayout.JAVA_BYTE, offset) & 0xff;
  }

  int u16(long offset) {
    require(offset, 2);
    return segment.get(SHORT, offset) & 0xffff;
  }

  int i32(long offset) {
    require(offset, 4);
    return segment.get(INT, offset);
  }

  long u32(long offset) {
    return i32(offset) & 0xffff_ffffL;
  }

  long i64(long offset) {
    require(offset, 8);
    return segment.get(LONG, offset);
  }

  Bytes slice(long offset, long length) {
    require(offset, length);
    return new Bytes(segment.asSlice(offset, length));
  }

  byte[] copy() {
    if (length() > Integer.MAX_VALUE - 8) {
      throw invalid("a part of " + length() + " bytes");
    }
    return segment.toArray(ValueLayout.JAVA_BYTE);
  }

  /** The text from {@code offset} to the next NUL or the end. */
  String text(long offset) {
    require(offset, 0);
    long end = offset;
    while (end < length() && segment.get(ValueLayout.JAVA_BYTE, end) != 0) {
      end++;
    }
    return new String(slice(offset, end - offset).copy(), StandardCharsets.ISO_8859_1);
  }

  private void require(long offset, long length) {
    if (offset < 0 || length < 0 || offset > length() - length) {
      throw invalid(
          "something at offset "
              + offset
              + ", length "
              + length
              + ", in a part of "
              + length()
              + " bytes");
    }
  }

  static GpuException invalid(String found) {
    return new GpuException(CudaStatus.INVALID_IMAGE, "invalid image: " + found);
  }
}
