// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;

/**
 * Memory of this process by absolute address, little-endian. Nothing is checked: callers check
 * numbers that came from outside.
 */
public final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private static final VarHandle INT = JAVA_INT.varHandle();
  private static final VarHandle LONG = JAVA_LONG.varHandle();

  private Memory() {}

  public static byte getByte(long address) {
    return ALL.get(JAVA_BYTE, address);
  }

  public static int getShort(long address) {
    return ALL.get(JAVA_SHORT_UNALIGNED, address) & 0xffff;
  }

  public static int getInt(long address) {
    return ALL.get(JAVA_INT_UNALIGNED, address);
  }

  public static long getLong(long address) {
    return ALL.get(JAVA_LONG_UNALIGNED, address);
  }

  public static void putByte(long address, int value) {
    ALL.set(JAVA_BYTE, address, (byte) value);
  }

  public static void putShort(long address, int value) {
    ALL.set(JAVA_SHORT_UNALIGNED, address, (short) value);
  }

  public static void putInt(long address, int value) {
    ALL.set(JAVA_INT_UNALIGNED, address, value);
  }

  /** As {@link #putInt}, of an aligned int that another thread or a device reads. */
  public static void putIntRelease(long address, int value) {
    INT.setRelease(ALL, address, value);
  }

  /** Reads an aligned int that another process writes, in one order with other such accesses. */
  public static int getIntVolatile(long address) {
    return (int) INT.getVolatile(ALL, address);
  }

  /** As {@link #putInt}, in the same order. */
  public static void putIntVolatile(long address, int value) {
    INT.setVolatile(ALL, address, value);
  }

  /** Puts an aligned int and returns what was there, in the same order. */
  public static int getAndSetInt(long address, int value) {
    return (int) INT.getAndSet(ALL, address, value);
  }

  /** Reads an aligned long; what was written before it can be read. */
  public static long getLongAcquire(long address) {
    return (long) LONG.getAcquire(ALL, address);
  }

  /** As {@link #getIntVolatile}. */
  public static long getLongVolatile(long address) {
    return (long) LONG.getVolatile(ALL, address);
  }

  /** As {@link #putIntVolatile}. */
  public static void putLongVolatile(long address, long value) {
    LONG.setVolatile(ALL, address, value);
  }

  public static void putLong(long address, long value) {
    ALL.set(JAVA_LONG_UNALIGNED, address, value);
  }

  public static void copy(long source, long target, long lengthBytes) {
    MemorySegment.copy(ALL, source, ALL, target, lengthBytes);
  }

  public static void clear(long address, long lengthBytes) {
    ALL.asSlice(address, lengthBytes).fill((byte) 0);
  }

  public static void put(long address, byte[] bytes, int lengthBytes) {
    MemorySegment.copy(bytes, 0, ALL, JAVA_BYTE, address, lengthBytes);
  }

  public static void get(long address, byte[] bytes, int lengthBytes) {
    MemorySegment.copy(ALL, JAVA_BYTE, address, bytes, 0, lengthBytes);
  }

  public static byte[] bytes(long address, int lengthBytes) {
    byte[] bytes = new byte[lengthBytes];
    MemorySegment.copy(ALL, JAVA_BYTE, address, bytes, 0, lengthBytes);
    return bytes;
  }

  /** Returns the text up to the first zero byte, at most {@code limitBytes} long. */
  public static String text(long address, int limitBytes) {
    int length = 0;
    while (length < limitBytes && ALL.get(JAVA_BYTE, address + length) != 0) {
      length++;
    }
    return new String(bytes(address, length), StandardCharsets.UTF_8);
  }

  /** Allocates zeroed memory that is never freed, aligned to a page. */
  public static long allocateForever(long lengthBytes) {
    return Arena.global().allocate(lengthBytes, 4096).address();
  }
}
