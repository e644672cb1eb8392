// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/** Single-precision instructions. Called by generated code. */
public final class Floats {
  private static final double LN2 = 0x1.62e42fefa39efp-1;
  private static final float NAN = Float.intBitsToFloat(0x7FFF_FFFF);

  private Floats() {}

  /** {@code .ftz}: subnormal values become zero of the same sign. */
  public static float flush(float a) {
    return Math.abs(a) < Float.MIN_NORMAL ? Math.copySign(0.0f, a) : a;
  }

  /** {@code .sat}: clamps to 0..1; a NaN becomes 0. */
  public static float saturate(float a) {
    return a > 0 ? Math.min(a, 1.0f) : 0.0f;
  }

  /** {@code .relu}: negative numbers become zero; a NaN stays. */
  public static float relu(float a) {
    return Float.isNaN(a) ? NAN : a > 0 ? a : 0.0f;
  }

  public static float add(float a, float b, int mode) {
    double sum = (double) a + b;
    if (sum == 0) {
      return (float) Rounding.zeroSum(a, b, mode);
    }
    return Rounding.toFloat(sum, Rounding.sumError(a, b, sum), mode);
  }

  public static float mul(float a, float b, int mode) {
    return Rounding.toFloat((double) a * b, 0, mode);
  }

  public static float fma(float a, float b, float c, int mode) {
    double product = (double) a * b;
    double sum = product + c;
    if (sum == 0) {
      return (float) Rounding.zeroSum(product, c, mode);
    }
    return Rounding.toFloat(sum, Rounding.sumError(product, c, sum), mode);
  }

  public static float div(float a, float b, int mode) {
    double quotient = (double) a / b;
    if (quotient == 0 || Double.isNaN(quotient) || Double.isInfinite(quotient)) {
      return (float) quotient;
    }
    double rest = Math.fma(-quotient, b, a);
    return Rounding.toFloat(quotient, b < 0 ? -rest : rest, mode);
  }

  public static float sqrt(float a, int mode) {
    double root = Math.sqrt(a);
    if (root == 0 || Double.isNaN(root) || Double.isInfinite(root)) {
      return (float) root;
    }
    return Rounding.toFloat(root, Math.fma(-root, root, a), mode);
  }

  public static float min(float a, float b) {
    return Float.isNaN(a) ? b : Float.isNaN(b) ? a : Math.min(a, b);
  }

  public static float max(float a, float b) {
    return Float.isNaN(a) ? b : Float.isNaN(b) ? a : Math.max(a, b);
  }

  /** {@code min.NaN}. */
  public static float minNan(float a, float b) {
    return Float.isNaN(a) || Float.isNaN(b) ? NAN : Math.min(a, b);
  }

  /** {@code max.NaN}. */
  public static float maxNan(float a, float b) {
    return Float.isNaN(a) || Float.isNaN(b) ? NAN : Math.max(a, b);
  }

  /** {@code .xorsign.abs}: magnitude of a minimum or maximum of magnitudes, sign of a product. */
  public static float xorSign(float magnitude, float a, float b) {
    int sign = (Float.floatToRawIntBits(a) ^ Float.floatToRawIntBits(b)) & 0x8000_0000;
    return Float.intBitsToFloat(Float.floatToRawIntBits(magnitude) & 0x7FFF_FFFF | sign);
  }

  /** 2 to the power of {@code x}; the series is good to a tenth of the last place. */
  public static float exp2(float x) {
    if (!(Math.abs(x) < 160)) {
      return Float.isNaN(x) ? NAN : x > 0 ? Float.POSITIVE_INFINITY : 0;
    }
    double whole = Math.rint(x);
    double t = (x - whole) * LN2;
    double series = 1.0 / 40320;
    series = Math.fma(series, t, 1.0 / 5040);
    series = Math.fma(series, t, 1.0 / 720);
    series = Math.fma(series, t, 1.0 / 120);
    series = Math.fma(series, t, 1.0 / 24);
    series = Math.fma(series, t, 1.0 / 6);
    series = Math.fma(series, t, 0.5);
    series = Math.fma(series, t, 1);
    series = Math.fma(series, t, 1);
    return (float) (series * Double.longBitsToDouble((long) whole + 1023 << 52));
  }

  /** Logarithm to base 2 by the series of the inverse hyperbolic tangent. */
  public static float log2(float x) {
    if (!(x > 0) || x == Float.POSITIVE_INFINITY) {
      return x == 0 ? Float.NEGATIVE_INFINITY : x > 0 ? x : NAN;
    }
    long bits = Double.doubleToRawLongBits(x);
    // Exponent such that the rest lies in [2/3, 4/3) or so.
    long exponent = bits - 0x3FE5_5555_0000_0000L >> 52;
    double m = Double.longBitsToDouble(bits - (exponent << 52));
    double s = (m - 1) / (m + 1);
    double q = s * s;
    double series = 1.0 / 15;
    series = Math.fma(series, q, 1.0 / 13);
    series = Math.fma(series, q, 1.0 / 11);
    series = Math.fma(series, q, 1.0 / 9);
    series = Math.fma(series, q, 1.0 / 7);
    series = Math.fma(series, q, 1.0 / 5);
    series = Math.fma(series, q, 1.0 / 3);
    series = Math.fma(series, q, 1);
    return (float) (exponent + series * s * (2 / LN2));
  }

  public static float sin(float x) {
    return (float) Math.sin(x);
  }

  public static float cos(float x) {
    return (float) Math.cos(x);
  }

  public static float tanh(float x) {
    return (float) Math.tanh(x);
  }

  public static float rsqrt(float x) {
    return (float) (1 / Math.sqrt(x));
  }

  /** {@code div.approx}: a divisor beyond 2^126 in magnitude gives zero, as documented. */
  public static float divApprox(float a, float b) {
    if (Math.abs(b) > 0x1p126f && Math.abs(b) < Float.POSITIVE_INFINITY) {
      return Math.abs(a) == Float.POSITIVE_INFINITY ? NAN : a / b * 0;
    }
    return a / b;
  }

  public static int notEqual(float a, float b) {
    return a < b || a > b ? 1 : 0;
  }

  public static int notEqual(double a, double b) {
    return a < b || a > b ? 1 : 0;
  }

  public static int equalOrNan(float a, float b) {
    return a < b || a > b ? 0 : 1;
  }

  public static int equalOrNan(double a, double b) {
    return a < b || a > b ? 0 : 1;
  }

  public static int isNan(float a, float b) {
    return Float.isNaN(a) || Float.isNaN(b) ? 1 : 0;
  }

  public static int isNan(double a, double b) {
    return Double.isNaN(a) || Double.isNaN(b) ? 1 : 0;
  }

  public static final int FINITE = 0;
  public static final int INFINITE = 1;
  public static final int NUMBER = 2;
  public static final int NOT_A_NUMBER = 3;
  public static final int NORMAL = 4;
  public static final int SUBNORMAL = 5;

  public static int test(float a, int property) {
    float magnitude = Math.abs(a);
    boolean holds =
        switch (property) {
          case FINITE -> magnitude <= Float.MAX_VALUE;
          case INFINITE -> magnitude == Float.POSITIVE_INFINITY;
          case NUMBER -> !Float.isNaN(a);
          case NOT_A_NUMBER -> Float.isNaN(a);
          case NORMAL -> magnitude >= Float.MIN_NORMAL && magnitude <= Float.MAX_VALUE;
          default -> magnitude > 0 && magnitude < Float.MIN_NORMAL;
        };
    return holds ? 1 : 0;
  }

  public static int test(double a, int property) {
    double magnitude = Math.abs(a);
    boolean holds =
        switch (property) {
          case FINITE -> magnitude <= Double.MAX_VALUE;
          case INFINITE -> magnitude == Double.POSITIVE_INFINITY;
          case NUMBER -> !Double.isNaN(a);
          case NOT_A_NUMBER -> Double.isNaN(a);
          case NORMAL -> magnitude >= Double.MIN_NORMAL && magnitude <= Double.MAX_VALUE;
          default -> magnitude > 0 && magnitude < Double.MIN_NORMAL;
        };
    return holds ? 1 : 0;
  }
}
