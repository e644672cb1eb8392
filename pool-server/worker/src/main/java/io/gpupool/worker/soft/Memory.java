// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * Memory of this process by absolute address, little-endian. Nothing is checked: callers have
 * checked what came from outside.
 */
final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Memory() {}

  static int getInt(long address) {
    return ALL.get(JAVA_INT_UNALIGNED, address);
  }

  static long getLong(long address) {
    return ALL.get(JAVA_LONG_UNALIGNED, address);
  }

  static void putByte(long address, int value) {
    ALL.set(JAVA_BYTE, address, (byte) value);
  }

  static void putInt(long address, int value) {
    ALL.set(JAVA_INT_UNALIGNED, address, value);
  }

  static void putLong(long address, long value) {
    ALL.set(JAVA_LONG_UNALIGNED, address, value);
  }

  static void clear(long address, long lengthBytes) {
    ALL.asSlice(address, lengthBytes).fill((byte) 0);
  }

  static void put(long address, byte[] bytes, int lengthBytes) {
    MemorySegment.copy(bytes, 0, ALL, JAVA_BYTE, address, lengthBytes);
  }

  static byte[] bytes(long address, int lengthBytes) {
    byte[] bytes = new byte[lengthBytes];
    MemorySegment.copy(ALL, JAVA_BYTE, address, bytes, 0, lengthBytes);
    return bytes;
  }

  /** The text up to the first zero byte, at most {@code limitBytes} long. */
  static String text(long address, int limitBytes) {
    return new String(bytes(address, textLength(address, limitBytes)), StandardCharsets.UTF_8);
  }

  /** Bytes before the first zero byte, at most {@code limitBytes}. */
  static int textLength(long address, int limitBytes) {
    int length = 0;
    while (length < limitBytes && ALL.get(JAVA_BYTE, address + length) != 0) {
      length++;
    }
    return length;
  }
}
