// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** Directed rounding of double-precision results, against their definition in exact numbers. */
class DirectedRoundingTest {
  private static final int ROUNDS = 20_000;

  /** Magnitudes at and about which the ways to compute change. */
  private static final int[] EXPONENTS = {
    -1074, -1022, -960, -901, -900, -450, 0, 450, 899, 1000, 1023
  };

  private final Random random = new Random(7);

  /**
   * Where an exact result lies: negative, zero or positive as {@code bound} is below, at or above.
   */
  private interface Place {
    int compare(BigDecimal bound);
  }

  @Test
  void add_anyNumbers_isTheNextNumberOnThatSide() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = random.nextInt(4) == 0 ? near(-a) : number();
      BigDecimal exact = exact(a).add(exact(b));
      check(Doubles.add(a, b, Rounding.DOWN), Doubles.add(a, b, Rounding.UP), exact, a, b);
      checkTowardsZero(Doubles.add(a, b, Rounding.ZERO), exact.signum(), exact, a, b);
    }
  }

  @Test
  void mul_anyNumbers_isTheNextNumberOnThatSide() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = number();
      BigDecimal exact = exact(a).multiply(exact(b));
      check(Doubles.mul(a, b, Rounding.DOWN), Doubles.mul(a, b, Rounding.UP), exact, a, b);
      checkTowardsZero(Doubles.mul(a, b, Rounding.ZERO), exact.signum(), exact, a, b);
    }
  }

  @Test
  void fma_anyNumbers_isTheNextNumberOnThatSide() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = number();
      double c =
          switch (random.nextInt(4)) {
            case 0 -> near(-a * b);
            case 1 -> Math.ulp(a * b) * (random.nextInt(9) - 4) / 4;
            default -> number();
          };
      if (Double.isInfinite(c) || Double.isNaN(c)) {
        continue;
      }
      BigDecimal exact = exact(a).multiply(exact(b)).add(exact(c));
      check(Doubles.fma(a, b, c, Rounding.DOWN), Doubles.fma(a, b, c, Rounding.UP), exact, a, b, c);
      checkTowardsZero(Doubles.fma(a, b, c, Rounding.ZERO), exact.signum(), exact, a, b, c);
    }
  }

  @Test
  void div_anyNumbers_isTheNextNumberOnThatSide() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = number();
      double b = number();
      int sign = exact(b).signum();
      Place place = bound -> bound.multiply(exact(b)).compareTo(exact(a)) * sign;
      checkPlace(Doubles.div(a, b, Rounding.DOWN), Doubles.div(a, b, Rounding.UP), place, a, b);
    }
  }

  @Test
  void sqrt_anyNumber_isTheNextNumberOnThatSide() {
    for (int i = 0; i < ROUNDS; i++) {
      double a = Math.abs(number());
      Place place = bound -> bound.signum() < 0 ? -1 : bound.multiply(bound).compareTo(exact(a));
      checkPlace(Doubles.sqrt(a, Rounding.DOWN), Doubles.sqrt(a, Rounding.UP), place, a);
    }
  }

  private double number() {
    int exponent = EXPONENTS[random.nextInt(EXPONENTS.length)] + random.nextInt(5) - 2;
    double mantissa =
        random.nextInt(3) == 0 ? 1 + random.nextInt(16) / 16.0 : 1 + random.nextDouble();
    double size = Math.scalb(mantissa, Math.min(exponent, 1023));
    return (random.nextBoolean() ? -1 : 1) * Math.max(size, Double.MIN_VALUE);
  }

  private double near(double a) {
    double moved = a + Math.ulp(a) * (random.nextInt(9) - 4);
    return Double.isInfinite(moved) ? a : moved;
  }

  private static BigDecimal exact(double a) {
    return new BigDecimal(a);
  }

  private static void check(double down, double up, BigDecimal exact, double... of) {
    checkPlace(down, up, bound -> bound.compareTo(exact), of);
  }

  private static void checkPlace(double down, double up, Place exact, double... of) {
    assertThat(isAtMost(down, exact))
        .as("down %s of %s", down, DoubleStream.of(of).boxed().toList())
        .isTrue();
    assertThat(isAtMost(Math.nextUp(down), exact) && down != Double.POSITIVE_INFINITY)
        .as("above %s of %s", down, DoubleStream.of(of).boxed().toList())
        .isFalse();
    assertThat(isAtLeast(up, exact))
        .as("up %s of %s", up, DoubleStream.of(of).boxed().toList())
        .isTrue();
    assertThat(isAtLeast(Math.nextDown(up), exact) && up != Double.NEGATIVE_INFINITY)
        .as("below %s of %s", up, DoubleStream.of(of).boxed().toList())
        .isFalse();
  }

  private static void checkTowardsZero(double result, int sign, BigDecimal exact, double... of) {
    boolean inside =
        sign >= 0
            ? isAtMost(result, bound -> bound.compareTo(exact))
            : isAtLeast(result, bound -> bound.compareTo(exact));
    assertThat(inside).as("%s of %s", result, DoubleStream.of(of).boxed().toList()).isTrue();
    double outwards = sign >= 0 ? Math.nextUp(result) : Math.nextDown(result);
    boolean next =
        sign >= 0
            ? isAtMost(outwards, bound -> bound.compareTo(exact))
            : isAtLeast(outwards, bound -> bound.compareTo(exact));
    assertThat(next).as("beyond %s of %s", result, DoubleStream.of(of).boxed().toList()).isFalse();
  }

  private static boolean isAtMost(double bound, Place exact) {
    return Double.isInfinite(bound) ? bound < 0 : exact.compare(exact(bound)) <= 0;
  }

  private static boolean isAtLeast(double bound, Place exact) {
    return Double.isInfinite(bound) ? bound > 0 : exact.compare(exact(bound)) >= 0;
  }
}
