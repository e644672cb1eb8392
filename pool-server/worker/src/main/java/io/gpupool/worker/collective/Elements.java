// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Copies of elements between memory and arrays. The compiler makes vector instructions of loops
 * over arrays alone: of addresses it does not know that they lie apart.
 */
final class Elements {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Elements() {}

  static void load(long source, byte[] target, int count) {
    MemorySegment.copy(ALL, JAVA_BYTE, source, target, 0, count);
  }

  static void store(byte[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_BYTE, target, count);
  }

  static void load(long source, short[] target, int count) {
    MemorySegment.copy(ALL, JAVA_SHORT_UNALIGNED, source, target, 0, count);
  }

  static void store(short[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_SHORT_UNALIGNED, target, count);
  }

  static void load(long source, int[] target, int count) {
    MemorySegment.copy(ALL, JAVA_INT_UNALIGNED, source, target, 0, count);
  }

  static void store(int[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_INT_UNALIGNED, target, count);
  }

  static void load(long source, long[] target, int count) {
    MemorySegment.copy(ALL, JAVA_LONG_UNALIGNED, source, target, 0, count);
  }

  static void store(long[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_LONG_UNALIGNED, target, count);
  }

  static void load(long source, float[] target, int count) {
    MemorySegment.copy(ALL, JAVA_FLOAT_UNALIGNED, source, target, 0, count);
  }

  static void store(float[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_FLOAT_UNALIGNED, target, count);
  }

  static void load(long source, double[] target, int count) {
    MemorySegment.copy(ALL, JAVA_DOUBLE_UNALIGNED, source, target, 0, count);
  }

  static void store(double[] source, long target, int count) {
    MemorySegment.copy(source, 0, ALL, JAVA_DOUBLE_UNALIGNED, target, count);
  }

  static void loadBytes(long source, int[] target, int lengthBytes) {
    MemorySegment.copy(ALL, source, MemorySegment.ofArray(target), 0, lengthBytes);
  }

  static void storeBytes(int[] source, long target, int lengthBytes) {
    MemorySegment.copy(MemorySegment.ofArray(source), 0, ALL, target, lengthBytes);
  }

  /** Puts the numbers that bits stand for into a part of an array. */
  static void reinterpret(int[] source, float[] target, int start, int count) {
    long length = (long) count << 2;
    MemorySegment floats = MemorySegment.ofArray(target);
    MemorySegment.copy(MemorySegment.ofArray(source), 0, floats, (long) start << 2, length);
  }

  /** Puts the bits of a part of an array's numbers into an array. */
  static void reinterpret(float[] source, int start, int[] target, int count) {
    long length = (long) count << 2;
    MemorySegment floats = MemorySegment.ofArray(source);
    MemorySegment.copy(floats, (long) start << 2, MemorySegment.ofArray(target), 0, length);
  }
}
