// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;

/**
 * A binary floating format, worked out on whole numbers times powers of two; the reference for what
 * the device does.
 */
enum ExactFloat {
  E4M3(4, 3),
  E5M2(5, 2),
  F16(5, 10),
  BF16(8, 7),
  TF32(8, 10),
  F32(8, 23),
  F64(11, 52);

  /** Stands for any NaN, whose bits differ from device to device. */
  static final long NAN = Long.MIN_VALUE + 12345;

  /** {@code units * 2^power}. */
  record Exact(BigInteger units, int power) {
    static Exact of(BigInteger whole) {
      return new Exact(whole, 0);
    }

    int sign() {
      return units.signum();
    }

    Exact negate() {
      return new Exact(units.negate(), power);
    }

    Exact plus(Exact other) {
      int least = Math.min(power, other.power);
      return new Exact(
          units.shiftLeft(power - least).add(other.units.shiftLeft(other.power - least)), least);
    }

    Exact times(Exact other) {
      return new Exact(units.multiply(other.units), power + other.power);
    }

    /** The quotient to 200 bits, its last bit set if there is more. */
    Exact over(Exact other) {
      int shift = 200 + other.units.bitLength();
      BigInteger[] parts = units.abs().shiftLeft(shift).divideAndRemainder(other.units.abs());
      BigInteger quotient = parts[1].signum() == 0 ? parts[0] : parts[0].setBit(0);
      boolean negative = sign() * other.sign() < 0;
      return new Exact(negative ? quotient.negate() : quotient, power - other.power - shift);
    }

    /** The square root, likewise. */
    Exact root() {
      int shift = 400 + (power & 1);
      BigInteger[] parts = units.shiftLeft(shift).sqrtAndRemainder();
      BigInteger root = parts[1].signum() == 0 ? parts[0] : parts[0].setBit(0);
      return new Exact(root, (power - shift) / 2);
    }

    int compare(Exact other) {
      return plus(other.negate()).sign();
    }

    /** The whole number that a mode rounds to. */
    BigInteger whole(String mode) {
      if (power >= 0) {
        return units.shiftLeft(power);
      }
      BigInteger magnitude = units.abs();
      BigInteger floor = magnitude.shiftRight(-power);
      BigInteger rest = magnitude.subtract(floor.shiftLeft(-power));
      boolean up = roundsUp(mode, sign() < 0, floor.testBit(0), rest, -power);
      BigInteger result = up ? floor.add(BigInteger.ONE) : floor;
      return sign() < 0 ? result.negate() : result;
    }

    private static boolean roundsUp(
        String mode, boolean negative, boolean odd, BigInteger rest, int bits) {
      if (rest.signum() == 0) {
        return false;
      }
      int half = rest.compareTo(BigInteger.ONE.shiftLeft(bits - 1));
      return switch (mode) {
        case "rn" -> half > 0 || half == 0 && odd;
        case "rna" -> half >= 0;
        case "rz" -> false;
        case "rm" -> negative;
        default -> !negative;
      };
    }
  }

  private final int exponentBits;
  private final int fractionBits;

  ExactFloat(int exponentBits, int fractionBits) {
    this.exponentBits = exponentBits;
    this.fractionBits = fractionBits;
  }

  /** The format of a type, or of each element of a packed one. */
  static ExactFloat of(Type type) {
    return switch (type) {
      case F16, F16X2 -> F16;
      case BF16, BF16X2 -> BF16;
      case TF32 -> TF32;
      case F64 -> F64;
      case E4M3X2 -> E4M3;
      case E5M2X2 -> E5M2;
      default -> F32;
    };
  }

  private long exponentMask() {
    return (1L << exponentBits) - 1;
  }

  private int bias() {
    return (1 << exponentBits - 1) - 1;
  }

  int bits() {
    return 1 + exponentBits + fractionBits;
  }

  long signBit() {
    return 1L << exponentBits + fractionBits;
  }

  long infinity() {
    return exponentMask() << fractionBits;
  }

  long one() {
    return (long) bias() << fractionBits;
  }

  boolean isNegative(long bits) {
    return (bits & signBit()) != 0;
  }

  boolean isNan(long bits) {
    return this == E4M3 ? (bits & 0x7F) == 0x7F : (bits & signBit() - 1) > infinity();
  }

  boolean isInfinite(long bits) {
    return this != E4M3 && (bits & signBit() - 1) == infinity();
  }

  boolean isZero(long bits) {
    return (bits & signBit() - 1) == 0;
  }

  boolean isSubnormal(long bits) {
    return !isZero(bits) && (bits & infinity()) == 0;
  }

  /** Denormals become zeros of their sign. */
  long flushed(long bits) {
    return bits != NAN && (bits & infinity()) == 0 ? bits & signBit() : bits;
  }

  /** The number that finite bits stand for. */
  Exact exact(long bits) {
    long exponent = bits >>> fractionBits & exponentMask();
    long fraction = bits & (1L << fractionBits) - 1;
    BigInteger significand =
        BigInteger.valueOf(exponent == 0 ? fraction : fraction | 1L << fractionBits);
    int power = (int) Math.max(exponent, 1) - bias() - fractionBits;
    return new Exact(isNegative(bits) ? significand.negate() : significand, power);
  }

  double approximate(long bits) {
    return this == F64
        ? Double.longBitsToDouble(bits)
        : Math.scalb(exact(bits).units().doubleValue(), exact(bits).power());
  }

  /**
   * Rounds a number.
   *
   * @param mode {@code rn}, {@code rna}, {@code rz}, {@code rm} or {@code rp}
   * @param negativeZero sign of the result if the number is zero
   */
  long round(Exact value, String mode, boolean negativeZero) {
    if (value.sign() == 0) {
      return negativeZero ? signBit() : 0;
    }
    boolean negative = value.sign() < 0;
    int exponent = value.units().abs().bitLength() - 1 + value.power();
    int power = Math.max(exponent, 1 - bias()) - fractionBits;
    BigInteger significand = new Exact(value.units(), value.power() - power).whole(mode).abs();
    if (significand.bitLength() > fractionBits + 1) {
      significand = significand.shiftRight(1);
      power++;
    }
    long bits;
    if (significand.bitLength() <= fractionBits) {
      bits = significand.longValue();
    } else {
      long biased = power + fractionBits + bias();
      bits = significand.longValue() & (1L << fractionBits) - 1 | biased << fractionBits;
      if (biased >= exponentMask()) {
        boolean toInfinity =
            mode.startsWith("rn")
                || mode.equals("rp") && !negative
                || mode.equals("rm") && negative;
        bits = toInfinity ? infinity() : infinity() - 1;
      }
    }
    return negative ? bits | signBit() : bits;
  }

  /** Bits as numbers that lie in the order of what they stand for. */
  long order(long bits) {
    return isNegative(bits) ? -(bits & signBit() - 1) - 1 : bits;
  }

  long add(long a, long b, String mode) {
    if (isNan(a) || isNan(b)) {
      return NAN;
    }
    if (isInfinite(a) || isInfinite(b)) {
      boolean opposed = isInfinite(a) && isInfinite(b) && a != b;
      return opposed ? NAN : isInfinite(a) ? a : b;
    }
    boolean bothNegative = isNegative(a) && isNegative(b);
    boolean sameSign = isNegative(a) == isNegative(b);
    return round(exact(a).plus(exact(b)), mode, bothNegative || !sameSign && mode.equals("rm"));
  }

  long multiply(long a, long b, String mode) {
    boolean negative = isNegative(a) != isNegative(b);
    if (isNan(a) || isNan(b)) {
      return NAN;
    }
    if (isInfinite(a) || isInfinite(b)) {
      return isZero(a) || isZero(b) ? NAN : infinity() | (negative ? signBit() : 0);
    }
    return round(exact(a).times(exact(b)), mode, negative);
  }

  long fma(long a, long b, long c, String mode) {
    if (isNan(a) || isNan(b) || isNan(c)) {
      return NAN;
    }
    boolean negative = isNegative(a) != isNegative(b);
    if (isInfinite(a) || isInfinite(b)) {
      long product = multiply(a, b, mode);
      return product == NAN || isInfinite(c) && c != product ? NAN : product;
    }
    if (isInfinite(c)) {
      return c;
    }
    boolean bothNegative = negative && isNegative(c);
    boolean sameSign = negative == isNegative(c);
    return round(
        exact(a).times(exact(b)).plus(exact(c)),
        mode,
        bothNegative || !sameSign && mode.equals("rm"));
  }

  long divide(long a, long b, String mode) {
    boolean negative = isNegative(a) != isNegative(b);
    long sign = negative ? signBit() : 0;
    if (isNan(a) || isNan(b)) {
      return NAN;
    }
    if (isInfinite(a) || isZero(b)) {
      boolean undefined = isInfinite(a) && isInfinite(b) || isZero(a) && isZero(b);
      return undefined ? NAN : infinity() | sign;
    }
    return isInfinite(b) ? sign : round(exact(a).over(exact(b)), mode, negative);
  }

  long root(long a, String mode) {
    if (isNan(a) || isNegative(a) && !isZero(a)) {
      return NAN;
    }
    return isZero(a) || isInfinite(a) ? a : round(exact(a).root(), mode, false);
  }

  /** The lesser or greater; a NaN yields to a number unless {@code nan} says that it stays. */
  long extreme(long a, long b, boolean min, boolean nan) {
    if (a == NAN || b == NAN || isNan(a) || isNan(b)) {
      boolean first = a == NAN || isNan(a);
      boolean second = b == NAN || isNan(b);
      return nan || first && second ? NAN : first ? b : a;
    }
    return order(a) < order(b) == min ? a : b;
  }

  /** {@code .sat}: into 0..1; a NaN becomes 0. */
  long saturated(long bits) {
    if (bits == NAN || isNan(bits) || isNegative(bits)) {
      return 0;
    }
    return Math.min(bits, one());
  }

  /** {@code .relu}: negative numbers become 0. */
  long relu(long bits) {
    return bits != NAN && isNegative(bits) && !isNan(bits) ? 0 : bits;
  }

  /** {@code .satfinite}: no infinities. */
  long finite(long bits) {
    return bits != NAN && isInfinite(bits) ? bits & signBit() | infinity() - 1 : bits;
  }

  /** A number of this format in another one. */
  long convert(long bits, ExactFloat to, String mode) {
    if (isNan(bits)) {
      return NAN;
    }
    if (isInfinite(bits)) {
      return to.infinity() | (isNegative(bits) ? to.signBit() : 0);
    }
    return to.round(exact(bits), mode, isNegative(bits));
  }

  /** Whether two numbers compare so; {@code ltu} and the like hold for NaNs. */
  boolean holds(String comparison, long a, long b) {
    boolean unordered = isNan(a) || isNan(b);
    if (comparison.equals("num") || comparison.equals("nan")) {
      return unordered == comparison.equals("nan");
    }
    if (unordered) {
      return comparison.length() == 3;
    }
    int difference = isZero(a) && isZero(b) ? 0 : Long.compare(order(a), order(b));
    return switch (comparison.substring(0, 2)) {
      case "eq" -> difference == 0;
      case "ne" -> difference != 0;
      case "lt" -> difference < 0;
      case "le" -> difference <= 0;
      case "gt" -> difference > 0;
      default -> difference >= 0;
    };
  }
}
