// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.math.BigDecimal;

/** Double-precision instructions. Called by generated code. */
public final class Doubles {
  private static final double NAN = Double.longBitsToDouble(0x7FF8_0000_0000_0000L);

  private Doubles() {}

  /** {@code .sat}: clamps to 0..1; a NaN becomes 0. */
  public static double saturate(double a) {
    return a > 0 ? Math.min(a, 1.0) : 0.0;
  }

  public static double min(double a, double b) {
    return Double.isNaN(a) ? b : Double.isNaN(b) ? a : Math.min(a, b);
  }

  public static double max(double a, double b) {
    return Double.isNaN(a) ? b : Double.isNaN(b) ? a : Math.max(a, b);
  }

  // Directed rounding is rare in double precision; exact arithmetic keeps it simple.

  public static double add(double a, double b, int mode) {
    double sum = a + b;
    if (!isFinite(a) || !isFinite(b)) {
      return sum;
    }
    BigDecimal exact = new BigDecimal(a).add(new BigDecimal(b));
    return exact.signum() == 0 ? Rounding.zeroSum(a, b, mode) : Rounding.toDouble(exact, mode);
  }

  public static double mul(double a, double b, int mode) {
    double product = a * b;
    if (!isFinite(a) || !isFinite(b) || a == 0 || b == 0) {
      return product;
    }
    return Rounding.toDouble(new BigDecimal(a).multiply(new BigDecimal(b)), mode);
  }

  public static double fma(double a, double b, double c, int mode) {
    if (!isFinite(a) || !isFinite(b) || !isFinite(c)) {
      return Math.fma(a, b, c);
    }
    BigDecimal exact = new BigDecimal(a).multiply(new BigDecimal(b)).add(new BigDecimal(c));
    return exact.signum() == 0 ? Rounding.zeroSum(a * b, c, mode) : Rounding.toDouble(exact, mode);
  }

  public static double div(double a, double b, int mode) {
    double quotient = a / b;
    if (!isFinite(a) || !isFinite(b) || a == 0 || b == 0) {
      return quotient;
    }
    if (Double.isInfinite(quotient)) {
      return Rounding.step(quotient, quotient > 0 ? -1 : 1, mode);
    }
    BigDecimal rest =
        new BigDecimal(a).subtract(new BigDecimal(quotient).multiply(new BigDecimal(b)));
    return Rounding.step(quotient, b > 0 ? rest.signum() : -rest.signum(), mode);
  }

  public static double sqrt(double a, int mode) {
    double root = Math.sqrt(a);
    if (root == 0 || !isFinite(root)) {
      return root;
    }
    BigDecimal exact = new BigDecimal(root);
    return Rounding.step(root, new BigDecimal(a).compareTo(exact.multiply(exact)), mode);
  }

  /** {@code rcp.approx.ftz.f64}: only the upper halves of argument and result carry bits. */
  public static double rcpApprox(double a) {
    return upper(1 / flush(upper(a)));
  }

  /** {@code rsqrt.approx.ftz.f64}: only the upper halves of argument and result carry bits. */
  public static double rsqrtApproxFlush(double a) {
    return upper(1 / Math.sqrt(flush(upper(a))));
  }

  public static double rsqrtApprox(double a) {
    return 1 / Math.sqrt(a);
  }

  private static double upper(double a) {
    return Double.isNaN(a)
        ? NAN
        : flush(Double.longBitsToDouble(Double.doubleToRawLongBits(a) & 0xFFFF_FFFF_0000_0000L));
  }

  private static double flush(double a) {
    return Math.abs(a) < Double.MIN_NORMAL ? Math.copySign(0.0, a) : a;
  }

  private static boolean isFinite(double a) {
    return Math.abs(a) <= Double.MAX_VALUE;
  }
}
