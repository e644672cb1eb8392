// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.MalformedInputException;
import io.airlift.compress.v3.lz4.Lz4JavaDecompressor;
import io.airlift.compress.v3.zstd.ZstdJavaDecompressor;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

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

  /** The most that one entry may unpack to; NCCL's kernels take 100 MB. */
  static final long MAX_PLAIN_BYTES = 512L << 20;

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
      throw Bytes.invalid(
          "a compressed part that claims to be %d bytes of at most %d".formatted(plainBytes, most));
    }
    MemorySegment plain = allocate(plainBytes);
    try {
      return new Bytes(plain.asSlice(0, decompressor.decompress(stored.segment(), plain)));
    } catch (MalformedInputException | IndexOutOfBoundsException | IllegalArgumentException e) {
      throw Bytes.invalid("a damaged " + compression + " part: " + e.getMessage());
    }
  }

  /** Beside the heap, which is small: the code of a library may be larger. */
  private static MemorySegment allocate(long length) {
    try {
      return Arena.ofAuto().allocate(length);
    } catch (OutOfMemoryError e) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "no room to unpack " + length + " bytes of an image");
    }
  }
}
