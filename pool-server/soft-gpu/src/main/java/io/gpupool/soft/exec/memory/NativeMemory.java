// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Reads and writes of native memory at addresses that were checked before. */
public final class NativeMemory {
  public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  /** User addresses have 47 bits; the mask lets the compiler drop bounds checks. */
  static final long ADDRESS = 0x7FFF_FFFF_FFFFL;

  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
  private static final VarHandle SHORT = ValueLayout.JAVA_SHORT.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private NativeMemory() {}

  public static byte getByte(long address) {
    return ALL.get(ValueLayout.JAVA_BYTE, address & ADDRESS);
  }

  public static short getShort(long address) {
    return ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, address & ADDRESS);
  }

  public static int getInt(long address) {
    return ALL.get(ValueLayout.JAVA_INT_UNALIGNED, address & ADDRESS);
  }

  public static long getLong(long address) {
    return ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, address & ADDRESS);
  }

  public static float getFloat(long address) {
    return ALL.get(ValueLayout.JAVA_FLOAT_UNALIGNED, address & ADDRESS);
  }

  public static double getDouble(long address) {
    return ALL.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, address & ADDRESS);
  }

  public static void putByte(long address, int value) {
    ALL.set(ValueLayout.JAVA_BYTE, address & ADDRESS, (byte) value);
  }

  public static void putShort(long address, int value) {
    ALL.set(ValueLayout.JAVA_SHORT_UNALIGNED, address & ADDRESS, (short) value);
  }

  public static void putInt(long address, int value) {
    ALL.set(ValueLayout.JAVA_INT_UNALIGNED, address & ADDRESS, value);
  }

  public static void putLong(long address, long value) {
    ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, address & ADDRESS, value);
  }

  public static void putFloat(long address, float value) {
    ALL.set(ValueLayout.JAVA_FLOAT_UNALIGNED, address & ADDRESS, value);
  }

  public static void putDouble(long address, double value) {
    ALL.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, address & ADDRESS, value);
  }

  /** Acquire covers what {@code ld.volatile}, {@code ld.relaxed} and {@code ld.acquire} ask. */
  public static byte acquireByte(long address) {
    return (byte) BYTE.getAcquire(ALL, address & ADDRESS);
  }

  public static short acquireShort(long address) {
    return (short) SHORT.getAcquire(ALL, address & ADDRESS);
  }

  public static int acquireInt(long address) {
    return (int) INT.getAcquire(ALL, address & ADDRESS);
  }

  public static long acquireLong(long address) {
    return (long) LONG.getAcquire(ALL, address & ADDRESS);
  }

  public static void releaseByte(long address, int value) {
    BYTE.setRelease(ALL, address & ADDRESS, (byte) value);
  }

  public static void releaseShort(long address, int value) {
    SHORT.setRelease(ALL, address & ADDRESS, (short) value);
  }

  public static void releaseInt(long address, int value) {
    INT.setRelease(ALL, address & ADDRESS, value);
  }

  public static void releaseLong(long address, long value) {
    LONG.setRelease(ALL, address & ADDRESS, value);
  }
}
