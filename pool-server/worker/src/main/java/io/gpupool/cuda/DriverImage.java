// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.worker.os.Memory;

/**
 * The check of an image from outside before a driver reads it: a driver believes the lengths in an
 * image, and takes a wrapper of fat binaries for what it is, addresses of this process's memory.
 */
final class DriverImage {
  private static final int FATBIN_MAGIC = 0xBA55ED50;
  private static final int FATBIN_HEADER_BYTES = 16;
  private static final int ENTRY_HEADER_BYTES = 32;

  private static final int ELF_MAGIC = 0x464C457F;
  private static final int ELF_HEADER_BYTES = 64;
  private static final int SECTION_BYTES = 64;
  private static final int SECTION_WITHOUT_CONTENT = 8;
  private static final int SEGMENT_BYTES = 56;

  private DriverImage() {}

  /** Returns whether it is text, an ELF file or fat binaries, with nothing beyond its length. */
  static boolean isSound(long image, long imageBytes) {
    if (imageBytes < Integer.BYTES) {
      return false;
    }
    return switch (Memory.getInt(image)) {
      case FATBIN_MAGIC -> areFatbinsSound(image, imageBytes);
      case ELF_MAGIC -> isElfSound(image, imageBytes);
      default -> isText(Memory.getByte(image));
    };
  }

  /** A text has a zero byte behind it, wherever it ends. */
  private static boolean isText(byte first) {
    return first >= '\t' && first <= '\r' || first >= ' ' && first <= '~';
  }

  private static boolean areFatbinsSound(long image, long imageBytes) {
    long at = 0;
    while (at <= imageBytes - FATBIN_HEADER_BYTES && Memory.getInt(image + at) == FATBIN_MAGIC) {
      long headerBytes = Memory.getInt(image + at + 4) >>> 16;
      long bodyBytes = Memory.getLong(image + at + 8);
      boolean whole =
          headerBytes >= FATBIN_HEADER_BYTES
              && headerBytes <= imageBytes - at
              && bodyBytes >= 0
              && bodyBytes <= imageBytes - at - headerBytes;
      if (!whole || !areEntriesSound(image + at + headerBytes, bodyBytes)) {
        return false;
      }
      at += headerBytes + bodyBytes;
    }
    return at > 0;
  }

  /** Entries of {@code u16 kind, u16 version, u32 header bytes, u64 bytes} and more. */
  private static boolean areEntriesSound(long body, long bodyBytes) {
    long at = 0;
    while (at <= bodyBytes - ENTRY_HEADER_BYTES) {
      long headerBytes = Memory.getInt(body + at + 4) & 0xffffffffL;
      long contentBytes = Memory.getLong(body + at + 8);
      boolean whole =
          headerBytes >= ENTRY_HEADER_BYTES
              && headerBytes <= bodyBytes - at
              && contentBytes >= 0
              && contentBytes <= bodyBytes - at - headerBytes;
      if (!whole) {
        return false;
      }
      at += headerBytes + contentBytes;
    }
    return true;
  }

  private static boolean isElfSound(long image, long imageBytes) {
    if (imageBytes < ELF_HEADER_BYTES) {
      return false;
    }
    long sections = Memory.getLong(image + 40);
    long segments = Memory.getLong(image + 32);
    int sectionCount = Memory.getShort(image + 60);
    int segmentCount = Memory.getShort(image + 56);
    if (!isWithin(sections, (long) sectionCount * SECTION_BYTES, imageBytes)
        || !isWithin(segments, (long) segmentCount * SEGMENT_BYTES, imageBytes)
        || sectionCount > 0 && Memory.getShort(image + 58) != SECTION_BYTES
        || segmentCount > 0 && Memory.getShort(image + 54) != SEGMENT_BYTES) {
      return false;
    }
    for (int i = 0; i < sectionCount; i++) {
      long section = image + sections + (long) i * SECTION_BYTES;
      boolean empty = Memory.getInt(section + 4) == SECTION_WITHOUT_CONTENT;
      if (!empty
          && !isWithin(Memory.getLong(section + 24), Memory.getLong(section + 32), imageBytes)) {
        return false;
      }
    }
    for (int i = 0; i < segmentCount; i++) {
      long segment = image + segments + (long) i * SEGMENT_BYTES;
      if (!isWithin(Memory.getLong(segment + 8), Memory.getLong(segment + 32), imageBytes)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isWithin(long offset, long lengthBytes, long imageBytes) {
    return lengthBytes == 0
        || offset >= 0
            && lengthBytes > 0
            && lengthBytes <= imageBytes
            && offset <= imageBytes - lengthBytes;
  }
}
