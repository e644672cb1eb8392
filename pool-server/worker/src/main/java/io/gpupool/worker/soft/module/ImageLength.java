// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;

/**
 * The length of a module image by its own account, for callers that are trusted to pass a whole
 * one. Sources: the ELF-64 format, and the fat binary container that nvcc writes.
 */
final class ImageLength {
  private static final int FATBIN_MAGIC = 0xBA55ED50;
  private static final int ELF_MAGIC = 0x464c457f;
  private static final int ELF_SECTION_BYTES = 64;
  private static final int ELF_SECTION_WITHOUT_CONTENT = 8;
  private static final int MAX_TEXT_BYTES = 256 << 20;
  private static final long MAX_BYTES = 4L << 30;

  private ImageLength() {}

  static long of(long image) {
    if (image == 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "no image");
    }
    long length =
        switch (Memory.getInt(image)) {
          case FATBIN_MAGIC ->
              (Memory.getInt(image + 4) >>> 16)
                  + Math.clamp(Memory.getLong(image + 8), 0, MAX_BYTES);
          case ELF_MAGIC -> elf(image);
          default -> textLength(image);
        };
    if (length > MAX_BYTES) {
      throw new GpuException(CudaStatus.INVALID_IMAGE, "an image of " + length + " bytes");
    }
    return length;
  }

  private static long textLength(long image) {
    long length = 0;
    while (length < MAX_TEXT_BYTES && Memory.getByte(image + length) != 0) {
      length++;
    }
    return length;
  }

  private static long elf(long image) {
    long table = Memory.getLong(image + 40);
    int sections = Memory.getInt(image + 60) & 0xffff;
    long end = Math.max(64, table + (long) sections * ELF_SECTION_BYTES);
    if (table < 0 || table > MAX_BYTES) {
      return Long.MAX_VALUE;
    }
    for (int index = 0; index < sections; index++) {
      long header = image + table + (long) index * ELF_SECTION_BYTES;
      if (Memory.getInt(header + 4) != ELF_SECTION_WITHOUT_CONTENT) {
        long offset = Math.clamp(Memory.getLong(header + 24), 0, MAX_BYTES);
        end = Math.max(end, offset + Math.clamp(Memory.getLong(header + 32), 0, MAX_BYTES));
      }
    }
    return end;
  }
}
