// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/**
 * Arithmetic on half-precision values held as bits. Sums and products are exact in double or
 * rounded innocuously in float, so rounding happens once. Called by generated code.
 */
public final class Halves {
  public static final int F16 = 0;
  public static final int BF16 = 1;

  public static final int ADD = 0;
  public static final int SUB = 1;
  public static final int MUL = 2;
  public static final int FMA = 3;
  public static final int MIN = 4;
  public static final int MAX = 5;
  public static final int NEG = 6;
  public static final int ABS = 7;
  public static final int EX2 = 8;
  public static final int TANH = 9;

  public static final int FLUSH = 1;
  public static final int SATURATE = 2;
  public static final int RELU = 4;
  public static final int PASS_NAN = 8;
  public static final int XOR_SIGN = 16;

  private static final int NAN = 0x7FFF;
  private static final int SIGN = 0x8000;

  private Halves() {}

  public static float toFloat(int bits, int format) {
    return format == F16 ? Float.float16ToFloat((short) bits) : Float.intBitsToFloat(bits << 16);
  }

  /** {@code .ftz} on a 16-bit number that was made wider. */
  public static float flush(float value) {
    return Math.abs(value) < 0x1p-14f ? Math.copySign(0.0f, value) : value;
  }

  /** {@code .satfinite}: what has become infinite is the largest number instead. */
  public static int finite(int bits, int format) {
    int infinity = format == F16 ? 0x7C00 : 0x7F80;
    return (bits & 0x7FFF) == infinity ? bits & SIGN | infinity - 1 : bits;
  }

  /** Rounds to nearest even. */
  public static int ofFloat(float value, int format) {
    if (Float.isNaN(value)) {
      return NAN;
    }
    if (format == F16) {
      return Float.floatToFloat16(value) & 0xFFFF;
    }
    int bits = Float.floatToRawIntBits(value);
    return bits + 0x7FFF + (bits >>> 16 & 1) >>> 16;
  }

  /** Rounds to nearest even, once. */
  public static int ofDouble(double value, int format) {
    return ofFloat(Rounding.toOdd(value), format);
  }

  /** Rounds in some mode. */
  public static int ofFloat(float value, int format, int mode) {
    int nearest = ofFloat(value, format);
    if (mode == Rounding.NEAREST || Float.isNaN(value) || Float.isInfinite(value)) {
      return nearest;
    }
    float back = toFloat(nearest, format);
    boolean down = mode == Rounding.DOWN || mode == Rounding.ZERO && value > 0;
    boolean up = mode == Rounding.UP || mode == Rounding.ZERO && value < 0;
    if (back > value && down || back < value && up) {
      return neighbour(nearest, back < value);
    }
    return nearest;
  }

  /** The next representable value in a direction. */
  private static int neighbour(int bits, boolean up) {
    boolean negative = (bits & SIGN) != 0;
    if ((bits & 0x7FFF) == 0) {
      return up ? negative ? bits : 1 : negative ? SIGN | 1 : bits;
    }
    return negative == up ? bits - 1 : bits + 1;
  }

  public static int apply(int format, int operation, int a, int b, int c, int flags) {
    if (operation == NEG) {
      return (flushed(a, format, flags) ^ SIGN) & 0xFFFF;
    }
    if (operation == ABS) {
      return flushed(a, format, flags) & 0x7FFF;
    }
    float x = toFloat(flushed(a, format, flags), format);
    float y = toFloat(flushed(b, format, flags), format);
    int result =
        switch (operation) {
          case ADD -> ofFloat(x + y, format);
          case SUB -> ofFloat(x - y, format);
          case MUL -> ofFloat(x * y, format);
          case FMA -> fma(x, y, toFloat(flushed(c, format, flags), format), format);
          case MIN, MAX -> extreme(operation, x, y, format, flags);
          case EX2 -> ofFloat(Floats.exp2(x), format);
          default -> ofFloat(Floats.tanh(x), format);
        };
    return finish(result, format, flags);
  }

  /** The same on both halves of 32 bits. */
  public static int applyPair(int format, int operation, int a, int b, int c, int flags) {
    int low = apply(format, operation, a & 0xFFFF, b & 0xFFFF, c & 0xFFFF, flags);
    int high = apply(format, operation, a >>> 16, b >>> 16, c >>> 16, flags);
    return high << 16 | low & 0xFFFF;
  }

  /** {@code .relu}: negative values become zero. */
  public static int relu(int bits, int format) {
    return finish(bits, format, RELU);
  }

  /** {@code .sat} of a conversion. */
  public static int saturate(int bits, int format) {
    return finish(bits, format, SATURATE);
  }

  private static int fma(float x, float y, float z, int format) {
    double product = (double) x * y;
    double sum = product + z;
    return ofDouble(Rounding.toOdd(sum, Rounding.sumError(product, z, sum)), format);
  }

  private static int extreme(int operation, float x, float y, int format, int flags) {
    if ((flags & PASS_NAN) != 0 && (Float.isNaN(x) || Float.isNaN(y))) {
      return NAN;
    }
    if ((flags & XOR_SIGN) != 0) {
      float magnitude =
          operation == MIN
              ? Floats.min(Math.abs(x), Math.abs(y))
              : Floats.max(Math.abs(x), Math.abs(y));
      return ofFloat(Floats.xorSign(magnitude, x, y), format);
    }
    return ofFloat(operation == MIN ? Floats.min(x, y) : Floats.max(x, y), format);
  }

  private static int finish(int result, int format, int flags) {
    int value = flushed(result, format, flags);
    if ((flags & (SATURATE | RELU)) == 0) {
      return value;
    }
    float f = toFloat(value, format);
    if ((flags & SATURATE) != 0) {
      return ofFloat(Floats.saturate(f), format);
    }
    return Float.isNaN(f) ? NAN : f > 0 ? value : 0;
  }

  private static int flushed(int bits, int format, int flags) {
    return (flags & FLUSH) != 0 ? flush(bits, format) : bits;
  }

  /** {@code .ftz}: subnormal values become zeros of their sign. */
  public static int flush(int bits, int format) {
    int exponent = format == F16 ? 0x7C00 : 0x7F80;
    return (bits & exponent) == 0 ? bits & SIGN : bits;
  }
}
