// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

import java.math.BigDecimal;
import java.math.BigInteger;

/** Conversions between number types. Called by generated code. */
public final class Conversions {
  private static final double TWO_63 = 0x1p63;

  private Conversions() {}

  /** {@code .rni}, {@code .rzi}, {@code .rmi}, {@code .rpi}. */
  public static double integral(double a, int mode) {
    return switch (mode) {
      case Rounding.NEAREST -> Math.rint(a);
      case Rounding.DOWN -> Math.floor(a);
      case Rounding.UP -> Math.ceil(a);
      default -> a < 0 ? Math.ceil(a) : Math.floor(a);
    };
  }

  /** To a signed type of up to 32 bits, clamped; a NaN becomes {@code nan}. */
  public static int toSigned(double a, int bits, int nan) {
    int max = (int) ((1L << bits - 1) - 1);
    return Double.isNaN(a) ? nan : Math.clamp((int) a, -max - 1, max);
  }

  /** To an unsigned type of up to 32 bits, clamped; a NaN becomes {@code nan}. */
  public static int toUnsigned(double a, int bits, int nan) {
    return Double.isNaN(a) ? nan : (int) Math.clamp((long) a, 0, (1L << bits) - 1);
  }

  public static long toLong(double a) {
    return Double.isNaN(a) ? Long.MIN_VALUE : (long) a;
  }

  public static long toUnsignedLong(double a) {
    if (Double.isNaN(a)) {
      return Long.MIN_VALUE;
    }
    if (a < TWO_63) {
      return Math.max((long) a, 0);
    }
    return a >= 2 * TWO_63 ? -1 : (long) (a - TWO_63) + Long.MIN_VALUE;
  }

  public static float unsignedToFloat(long a) {
    if (a >= 0) {
      return a;
    }
    // Half of it, with the lost bit kept so that rounding sees it.
    return (float) (a >>> 1 | a & 1) * 2;
  }

  public static double unsignedToDouble(long a) {
    return a >= 0 ? a : (double) (a >>> 1 | a & 1) * 2;
  }

  public static float toFloat(long a, boolean signed, int mode) {
    BigInteger exact = exact(a, signed);
    return exact.signum() == 0 ? 0 : Rounding.toFloat(new BigDecimal(exact), mode);
  }

  public static double toDouble(long a, boolean signed, int mode) {
    BigInteger exact = exact(a, signed);
    return exact.signum() == 0 ? 0 : Rounding.toDouble(new BigDecimal(exact), mode);
  }

  private static BigInteger exact(long a, boolean signed) {
    BigInteger value = BigInteger.valueOf(a);
    return signed || a >= 0 ? value : value.add(BigInteger.ONE.shiftLeft(64));
  }

  /** Nearest 53-bit value with the last bit telling of what was lost. */
  public static double toOddDouble(long a, boolean signed) {
    double nearest = signed ? a : unsignedToDouble(a);
    BigDecimal exact = new BigDecimal(exact(a, signed));
    return Rounding.toOdd(nearest, exact.compareTo(new BigDecimal(nearest)));
  }

  public static float toFloat(double a, int mode) {
    return Rounding.toFloat(a, 0, mode);
  }

  /** {@code cvt.rna.tf32.f32}: 10 bits of fraction, ties away from zero. */
  public static float toTf32(float a) {
    if (Float.isNaN(a) || Float.isInfinite(a)) {
      return a;
    }
    return Float.intBitsToFloat(Float.floatToRawIntBits(a) + 0x1000 & ~0x1FFF);
  }

  /** {@code cvt.rn} and {@code cvt.rz} to {@code .tf32}. */
  public static float toTf32(float a, boolean toZero) {
    if (Float.isNaN(a) || Float.isInfinite(a)) {
      return a;
    }
    int bits = Float.floatToRawIntBits(a);
    int up = toZero ? 0 : 0xFFF + (bits >>> 13 & 1);
    return Float.intBitsToFloat(bits + up & ~0x1FFF);
  }

  /** {@code .satfinite}: the largest number of the format instead of an infinity. */
  public static float finiteTf32(float a) {
    return Float.isInfinite(a) ? Math.copySign(0x1.FFCp127f, a) : a;
  }

  /** Clamps to the range of a type; {@code a} is read as unsigned if {@code fromUnsigned}. */
  public static long clamp(long a, boolean fromUnsigned, int bits, boolean signed) {
    if (fromUnsigned && a < 0) {
      if (bits == 64 && !signed) {
        return a;
      }
      return signed ? Long.MAX_VALUE >>> 64 - bits : -1L >>> 64 - bits;
    }
    if (signed) {
      long max = Long.MAX_VALUE >>> 64 - bits;
      return Math.clamp(a, -max - 1, max);
    }
    return bits == 64 ? Math.max(a, 0) : Math.clamp(a, 0, -1L >>> 64 - bits);
  }

  /** {@code cvt.pack}: two clamped values, below them the upper part of {@code c} moved down. */
  public static int pack(int a, int b, int c, int bits, boolean signed) {
    int high = (int) clamp(a, false, bits, signed);
    int low = (int) clamp(b, false, bits, signed);
    int mask = (1 << bits) - 1;
    int both = (high & mask) << bits | low & mask;
    return bits == 16 ? both : both | c << 2 * bits;
  }
}
