// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

import java.math.BigDecimal;

/** Double-precision instructions. Called by generated code. */
public final class Doubles {
  private static final double NAN = Double.longBitsToDouble(0x7FF8_0000_0000_0000L);

  private static final double TINY = 0x1p-900;
  private static final double HUGE = 0x1p900;

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

  // Directed rounding: to nearest first, then a step if the exact result lies on the other side,
  // which is told by what rounding lost. That is computed without error where nothing can overflow
  // or underflow on the way, and from exact decimal numbers elsewhere.

  public static double add(double a, double b, int mode) {
    double sum = a + b;
    if (!isFinite(a) || !isFinite(b)) {
      return sum;
    }
    if (sum == 0) {
      return Rounding.zeroSum(a, b, mode);
    }
    if (Math.abs(a) < HUGE && Math.abs(b) < HUGE) {
      return Rounding.step(sum, sign(Rounding.sumError(a, b, sum)), mode);
    }
    return Rounding.toDouble(new BigDecimal(a).add(new BigDecimal(b)), mode);
  }

  public static double mul(double a, double b, int mode) {
    double product = a * b;
    if (isMedium(product)) {
      return Rounding.step(product, sign(Math.fma(a, b, -product)), mode);
    }
    if (!isFinite(a) || !isFinite(b) || a == 0 || b == 0) {
      return product;
    }
    return Rounding.toDouble(new BigDecimal(a).multiply(new BigDecimal(b)), mode);
  }

  public static double fma(double a, double b, double c, int mode) {
    double product = a * b;
    double sum = Math.fma(a, b, c);
    if (isMedium(product) && isMedium(sum) && isMedium(product + c)) {
      return Rounding.step(sum, fmaError(a, b, c, product, sum), mode);
    }
    if (!isFinite(a) || !isFinite(b) || !isFinite(c)) {
      return sum;
    }
    BigDecimal exact = new BigDecimal(a).multiply(new BigDecimal(b)).add(new BigDecimal(c));
    return exact.signum() == 0
        ? Rounding.zeroSum(product, c, mode)
        : Rounding.toDouble(exact, mode);
  }

  /**
   * Sign of {@code a * b + c - sum}, {@code sum} being the nearest value. Source: S. Boldo and
   * J.-M. Muller, "Some functions computable with a fused-mac", 2005, whose sum of errors is exact.
   */
  private static int fmaError(double a, double b, double c, double product, double sum) {
    double productError = Math.fma(a, b, -product);
    double low = c + productError;
    double lowError = Rounding.sumError(c, productError, low);
    double high = product + low;
    double highError = Rounding.sumError(product, low, high);
    double error = (high - sum) + highError;
    return sign(error + lowError);
  }

  public static double div(double a, double b, int mode) {
    double quotient = a / b;
    if (isMedium(quotient) && isMedium(a) && isMedium(b)) {
      int rest = sign(Math.fma(-quotient, b, a));
      return Rounding.step(quotient, b > 0 ? rest : -rest, mode);
    }
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
    if (isMedium(a)) {
      return Rounding.step(root, sign(Math.fma(-root, root, a)), mode);
    }
    if (root == 0 || !isFinite(root)) {
      return root;
    }
    BigDecimal exact = new BigDecimal(root);
    return Rounding.step(root, new BigDecimal(a).compareTo(exact.multiply(exact)), mode);
  }

  /**
   * Whether a number is so far from both ends of the range that sums of such numbers are finite,
   * and the errors of their products, quotients and roots are numbers too; false for zero and NaN.
   */
  private static boolean isMedium(double a) {
    double size = Math.abs(a);
    return size > TINY && size < HUGE;
  }

  private static int sign(double a) {
    return a > 0 ? 1 : a < 0 ? -1 : 0;
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
