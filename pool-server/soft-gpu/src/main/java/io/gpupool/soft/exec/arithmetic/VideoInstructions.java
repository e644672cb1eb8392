// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/**
 * Video instructions of PTX: arithmetic on bytes and halves of registers, with saturation and a
 * second operation. Called by generated code with constant codes, so that the switches fold.
 */
public final class VideoInstructions {
  public static final int ADD = 0;
  public static final int SUB = 1;
  public static final int ABSDIFF = 2;
  public static final int MIN = 3;
  public static final int MAX = 4;
  public static final int SHL = 5;
  public static final int SHR = 6;
  public static final int AVRG = 7;

  /** Comparisons, from here on: eq, ne, lt, le, gt, ge. */
  public static final int SET = 8;

  public static final int THEN_NOTHING = 0;
  public static final int THEN_ADD = 1;
  public static final int THEN_MIN = 2;
  public static final int THEN_MAX = 3;

  private VideoInstructions() {}

  /** A part of a register as a number. */
  public static long part(int value, int shift, int bits, boolean signed) {
    long moved = (long) value >>> shift << 64 - bits;
    return signed ? moved >> 64 - bits : moved >>> 64 - bits;
  }

  /**
   * A scalar instruction, once its operands are extended.
   *
   * @param signed whether the result is
   * @param bits width of the part of the result that is written, 32 without a selector
   * @param shift where that part lies
   * @param then the second operation, {@link #THEN_NOTHING} to merge
   */
  public static int scalar(
      long a,
      long b,
      int c,
      int operation,
      boolean signed,
      boolean saturate,
      int bits,
      int shift,
      int then) {
    long result = combine(a, b, operation);
    return finish(
        saturate ? saturated(result, bits, signed) : result, c, signed, bits, shift, then);
  }

  /** {@code vmad}: the product and sum moved down, and saturated to 32 bits. */
  public static int multiplyAdd(
      long a, long b, long c, int plusOne, int shift, boolean signed, boolean saturate) {
    long sum = a * b + c + plusOne;
    if (signed) {
      long result = sum >> shift;
      return (int) (saturate ? saturated(result, 32, true) : result);
    }
    // Two unsigned factors fill 64 bits.
    long result = sum >>> shift;
    return saturate && result >>> 32 != 0 ? -1 : (int) result;
  }

  private static int finish(long result, int c, boolean signed, int bits, int shift, int then) {
    long second = signed ? c : c & 0xFFFF_FFFFL;
    switch (then) {
      case THEN_ADD:
        return (int) (result + c);
      case THEN_MIN:
        return (int) Math.min(result, second);
      case THEN_MAX:
        return (int) Math.max(result, second);
      default:
        if (bits == 32) {
          return (int) result;
        }
        int mask = (1 << bits) - 1 << shift;
        return c & ~mask | (int) result << shift & mask;
    }
  }

  /**
   * An instruction on two halves or four bytes.
   *
   * @param selectA for each lane, 4 bits: the element of {@code b:a} that is its first operand
   * @param laneBits 8 or 16
   * @param mask lanes that are written, or added up
   * @param then {@link #THEN_ADD} to add all lanes to {@code c}, else they are merged with it
   */
  public static int lanes(
      int a,
      int b,
      int c,
      int selectA,
      int selectB,
      int operation,
      boolean signedA,
      boolean signedB,
      boolean signed,
      boolean saturate,
      int laneBits,
      int mask,
      int then) {
    long both = (long) b << 32 | a & 0xFFFF_FFFFL;
    int result = c;
    for (int lane = 0; lane < 32 / laneBits; lane++) {
      if ((mask >>> lane & 1) == 0) {
        continue;
      }
      long x = element(both, selectA >>> 4 * lane & 15, laneBits, signedA);
      long y = element(both, selectB >>> 4 * lane & 15, laneBits, signedB);
      long value = combine(x, y, operation);
      if (saturate) {
        value = saturated(value, laneBits, signed);
      }
      if (then == THEN_ADD) {
        result += (int) value;
      } else {
        int laneMask = (1 << laneBits) - 1 << lane * laneBits;
        result = result & ~laneMask | (int) value << lane * laneBits & laneMask;
      }
    }
    return result;
  }

  private static long element(long both, int index, int laneBits, boolean signed) {
    long moved = both >>> index * laneBits << 64 - laneBits;
    return signed ? moved >> 64 - laneBits : moved >>> 64 - laneBits;
  }

  private static long combine(long a, long b, int operation) {
    return switch (operation) {
      case ADD -> a + b;
      case SUB -> a - b;
      case ABSDIFF -> Math.abs(a - b);
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      // A shift by all 32 bits leaves what is far too large for any type, if it is not 0.
      case SHL -> b < 32 ? a << b : Math.clamp(a, -1L << 30, 1L << 30) << 32;
      case SHR -> a >> b;
      case AVRG -> a + b + (a + b >= 0 ? 1 : 0) >> 1;
      case SET -> a == b ? 1 : 0;
      case SET + 1 -> a != b ? 1 : 0;
      case SET + 2 -> a < b ? 1 : 0;
      case SET + 3 -> a <= b ? 1 : 0;
      case SET + 4 -> a > b ? 1 : 0;
      default -> a >= b ? 1 : 0;
    };
  }

  private static long saturated(long value, int bits, boolean signed) {
    long max = signed ? (1L << bits - 1) - 1 : (1L << bits) - 1;
    return Math.clamp(value, signed ? -max - 1 : 0, max);
  }
}
