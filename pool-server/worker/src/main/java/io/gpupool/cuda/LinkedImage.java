// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The form in which a driver takes several fat binaries that it is to link: what nvcc puts into a
 * program whose device code was compiled apart.
 *
 * <pre>
 *  0 u32 magic 0x466243B1    4 u32 version 2
 *  8 u64 address of the first fat binary
 * 16 u64 address of the addresses of the others, ended by 0
 * </pre>
 */
final class LinkedImage {
  private static final int FATBIN_MAGIC = 0xBA55ED50;
  private static final int FATBIN_HEADER_BYTES = 16;
  private static final int WRAPPER_MAGIC = 0x466243B1;
  private static final int WRAPPER_VERSION = 2;

  private LinkedImage() {}

  /**
   * The address of an image for the driver: its own, unless it is several fat binaries.
   *
   * @param image address of the image
   */
  static long forDriver(Arena arena, long image, long imageBytes) {
    List<Long> parts = new ArrayList<>();
    long at = 0;
    while (at <= imageBytes - FATBIN_HEADER_BYTES && Memory.getInt(image + at) == FATBIN_MAGIC) {
      parts.add(image + at);
      long headerBytes = Memory.getInt(image + at + 4) >>> 16;
      long bodyBytes = Memory.getLong(image + at + 8);
      if (bodyBytes < 0 || bodyBytes > imageBytes - at - headerBytes || headerBytes == 0) {
        return image;
      }
      at += headerBytes + bodyBytes;
    }
    if (parts.size() < 2) {
      return image;
    }
    MemorySegment others = arena.allocate(ValueLayout.JAVA_LONG, parts.size());
    for (int i = 1; i < parts.size(); i++) {
      others.setAtIndex(ValueLayout.JAVA_LONG, i - 1, parts.get(i));
    }
    others.setAtIndex(ValueLayout.JAVA_LONG, parts.size() - 1, 0);
    MemorySegment wrapper = arena.allocate(24, 8);
    wrapper.set(ValueLayout.JAVA_INT, 0, WRAPPER_MAGIC);
    wrapper.set(ValueLayout.JAVA_INT, 4, WRAPPER_VERSION);
    wrapper.set(ValueLayout.JAVA_LONG, 8, image);
    wrapper.set(ValueLayout.JAVA_LONG, 16, others.address());
    return wrapper.address();
  }
}
