// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

import java.math.BigDecimal;

/** Directed rounding, which the JVM does not offer. */
public final class Rounding {
  public static final int NEAREST = 0;
  public static final int ZERO = 1;
  public static final int DOWN = 2;
  public static final int UP = 3;

  private Rounding() {}

  /**
   * Rounds {@code value + error} to 32 bits.
   *
   * @param error of less than half a unit in the last place of {@code value}; only its sign counts
   */
  static float toFloat(double value, double error, int mode) {
    float nearest = (float) value;
    if (mode == NEAREST || Double.isNaN(value) || Double.isInfinite(value)) {
      return nearest;
    }
    int above = Double.compare(value, nearest);
    if (above == 0 || value == nearest) {
      above = error > 0 ? 1 : error < 0 ? -1 : 0;
    }
    return step(nearest, above, mode);
  }

  /** Moves a nearest value to its neighbour if the exact one lies on that side of it. */
  private static float step(float nearest, int exactIsAbove, int mode) {
    boolean negative = Float.floatToRawIntBits(nearest) < 0;
    if (exactIsAbove > 0 && (mode == UP || mode == ZERO && negative)) {
      // Below zero the step may end at zero, which then keeps the sign.
      return nearest == -Float.MIN_VALUE ? -0.0f : Math.nextUp(nearest);
    }
    if (exactIsAbove < 0 && (mode == DOWN || mode == ZERO && !negative)) {
      return Math.nextDown(nearest);
    }
    return nearest;
  }

  static double step(double nearest, int exactIsAbove, int mode) {
    boolean negative = Double.doubleToRawLongBits(nearest) < 0;
    if (exactIsAbove > 0 && (mode == UP || mode == ZERO && negative)) {
      return nearest == -Double.MIN_VALUE ? -0.0 : Math.nextUp(nearest);
    }
    if (exactIsAbove < 0 && (mode == DOWN || mode == ZERO && !negative)) {
      return Math.nextDown(nearest);
    }
    return nearest;
  }

  /** Rounds an exact value that is not zero to 64 bits. */
  static double toDouble(BigDecimal exact, int mode) {
    double nearest = exact.doubleValue();
    if (nearest == 0) {
      nearest = exact.signum() < 0 ? -0.0 : 0.0;
    }
    int above =
        Double.isInfinite(nearest)
            ? (nearest > 0 ? -1 : 1)
            : exact.compareTo(new BigDecimal(nearest));
    return step(nearest, above, mode);
  }

  /** Rounds an exact value that is not zero to 32 bits. */
  static float toFloat(BigDecimal exact, int mode) {
    float nearest = exact.floatValue();
    if (nearest == 0) {
      nearest = exact.signum() < 0 ? -0.0f : 0.0f;
    }
    int above =
        Float.isInfinite(nearest)
            ? (nearest > 0 ? -1 : 1)
            : exact.compareTo(new BigDecimal(nearest));
    return step(nearest, above, mode);
  }

  /** Sign of a sum that is exactly zero: minus only when both are, or when rounding down. */
  static double zeroSum(double a, double b, int mode) {
    boolean bothNegative = Double.doubleToRawLongBits(a) < 0 && Double.doubleToRawLongBits(b) < 0;
    boolean sameSign = Double.doubleToRawLongBits(a) < 0 == Double.doubleToRawLongBits(b) < 0;
    return bothNegative || !sameSign && mode == DOWN ? -0.0 : 0.0;
  }

  /** The 53-bit value next to {@code value + error} whose last bit is set unless it is exact. */
  static double toOdd(double value, double error) {
    if (error == 0
        || Double.isNaN(value)
        || Double.isInfinite(value)
        || (Double.doubleToRawLongBits(value) & 1) != 0) {
      return value;
    }
    return error > 0 ? Math.nextUp(value) : Math.nextDown(value);
  }

  /** The 24-bit value next to a 53-bit one whose last bit is set unless it is exact. */
  static float toOdd(double value) {
    float nearest = (float) value;
    if (nearest == value
        || Double.isNaN(value)
        || Float.isInfinite(nearest)
        || (Float.floatToRawIntBits(nearest) & 1) != 0) {
      return nearest;
    }
    return value > nearest ? Math.nextUp(nearest) : Math.nextDown(nearest);
  }

  /** What rounding lost in {@code sum = a + b}. */
  static double sumError(double a, double b, double sum) {
    double part = sum - a;
    return (a - (sum - part)) + (b - part);
  }
}
