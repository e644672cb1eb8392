// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.MalformedInputException;
import io.airlift.compress.v3.lz4.Lz4JavaDecompressor;
import io.airlift.compress.v3.zstd.ZstdJavaDecompressor;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * One piece of code in a fat binary.
 *
 * @param kind {@link #PTX}, {@link #ELF} or one that is not for loading, such as LTO IR
 * @param arch the number in {@code sm_NN} or {@code compute_NN}
 * @param plainBytes length once decompressed
 * @param stored its bytes as they lie in the container
 */
record FatbinEntry(int kind, int arch, Compression compression, long plainBytes, Bytes stored) {
  static final int PTX = 1;
  static final int ELF = 2;

  /** PTX of one of several units that {@link ImageLinker} put together; no compiler makes these. */
  static final int LINKED_PTX = 0x4750;

  /** The most that one entry may unpack to. */
  static final long MAX_PLAIN_BYTES = 64L << 20;

  private static final long MIN_PLAIN_LIMIT_BYTES = 1 << 20;
  private static final long MAX_RATIO = 1024;

  /** How the bytes are packed. */
  enum Compression {
    NONE,
    LZ4,
    ZSTD
  }

  /** The entry's code. */
  Bytes unpack() {
    Decompressor decompressor =
        switch (compression) {
          case NONE -> null;
          case LZ4 -> new Lz4JavaDecompressor();
          case ZSTD -> new ZstdJavaDecompressor();
        };
    if (decompressor == null) {
      return stored;
    }
    // Code does not shrink beyond this; so what is allocated is bounded by what was sent.
    long most = Math.min(MAX_PLAIN_BYTES, MIN_PLAIN_LIMIT_BYTES + stored.length() * MAX_RATIO);
    if (plainBytes <= 0 || plainBytes > most) {
      throw Bytes.invalid("a compressed part that claims to be " + plainBytes + " bytes");
    }
    byte[] packed = stored.copy();
    byte[] plain = allocate((int) plainBytes);
    int length;
    try {
      length = decompressor.decompress(packed, 0, packed.length, plain, 0, plain.length);
    } catch (MalformedInputException | IndexOutOfBoundsException | IllegalArgumentException e) {
      throw Bytes.invalid("a damaged " + compression + " part: " + e.getMessage());
    }
    return new Bytes(
        MemorySegment.ofArray(length == plain.length ? plain : Arrays.copyOf(plain, length)));
  }

  private static byte[] allocate(int length) {
    try {
      return new byte[length];
    } catch (OutOfMemoryError e) {
      // Only this array failed: the process is as healthy as before.
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "no room to unpack " + length + " bytes of an image");
    }
  }
}
