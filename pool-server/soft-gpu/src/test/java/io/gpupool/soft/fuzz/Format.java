// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;

/** A binary floating format, to which exact numbers are rounded. */
enum Format {
  F16(5, 10),
  BF16(8, 7),
  F32(8, 23),
  F64(11, 52);

  private final int exponentBits;
  private final int fractionBits;

  Format(int exponentBits, int fractionBits) {
    this.exponentBits = exponentBits;
    this.fractionBits = fractionBits;
  }

  private long exponentMask() {
    return (1L << exponentBits) - 1;
  }

  private int bias() {
    return (1 << exponentBits - 1) - 1;
  }

  long signBit() {
    return 1L << exponentBits + fractionBits;
  }

  long infinity() {
    return exponentMask() << fractionBits;
  }

  /** Denormals become zeros of their sign. */
  long flushed(long bits) {
    return (bits & infinity()) == 0 ? bits & signBit() : bits;
  }

  private static BigDecimal scaled(BigDecimal value, int power) {
    return power >= 0
        ? value.multiply(new BigDecimal(BigInteger.ONE.shiftLeft(power)))
        : value.divide(new BigDecimal(BigInteger.ONE.shiftLeft(-power)));
  }

  /**
   * Rounds a number.
   *
   * @param mode {@code rn}, {@code rz}, {@code rm} or {@code rp}
   * @param negativeZero sign of the result if the number is zero
   */
  long round(BigDecimal value, String mode, boolean negativeZero) {
    if (value.signum() == 0) {
      return negativeZero ? signBit() : 0;
    }
    boolean negative = value.signum() < 0;
    BigDecimal magnitude = value.abs();
    int power = Math.max(binaryExponent(magnitude), 1 - bias()) - fractionBits;
    BigDecimal units = scaled(magnitude, -power);
    RoundingMode rounding =
        switch (mode) {
          case "rn" -> RoundingMode.HALF_EVEN;
          case "rz" -> RoundingMode.DOWN;
          case "rm" -> negative ? RoundingMode.UP : RoundingMode.DOWN;
          default -> negative ? RoundingMode.DOWN : RoundingMode.UP;
        };
    BigInteger significand = units.setScale(0, rounding).toBigInteger();
    long bits;
    if (significand.bitLength() > fractionBits + 1) {
      significand = significand.shiftRight(1);
      power++;
    }
    if (significand.bitLength() <= fractionBits) {
      bits = significand.longValue();
    } else {
      long exponent = power + fractionBits + bias();
      bits = significand.longValue() & (1L << fractionBits) - 1 | exponent << fractionBits;
      if (exponent >= exponentMask()) {
        boolean toInfinity = rounding == RoundingMode.HALF_EVEN || rounding == RoundingMode.UP;
        bits = toInfinity ? infinity() : infinity() - 1;
      }
    }
    return negative ? bits | signBit() : bits;
  }

  /** The exponent of the power of two that is not above a positive number. */
  private static int binaryExponent(BigDecimal magnitude) {
    int guess = (int) Math.floor((magnitude.precision() - magnitude.scale()) * 3.3219280948873626);
    int power = guess + 1;
    while (scaled(BigDecimal.ONE, power).compareTo(magnitude) > 0) {
      power--;
    }
    return power;
  }
}
