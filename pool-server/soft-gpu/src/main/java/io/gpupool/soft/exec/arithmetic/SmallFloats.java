// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/**
 * Floating numbers of 8 bits: E4M3 has no infinity and reaches to 448, E5M2 is the upper half of a
 * 16-bit number. Called by generated code.
 */
public final class SmallFloats {
  public static final int E4M3 = 0;
  public static final int E5M2 = 1;

  private static final int NAN = 0x7F;
  private static final double[] MAX = {448, 57_344};
  private static final int[] FRACTION_BITS = {3, 2};
  private static final int[] BIAS = {7, 15};

  private static final float[][] NUMBERS = new float[2][256];

  static {
    for (int bits = 0; bits < 256; bits++) {
      for (int format = E4M3; format <= E5M2; format++) {
        NUMBERS[format][bits] = Halves.toFloat(toHalf(bits, format), Halves.F16);
      }
    }
  }

  private SmallFloats() {}

  /** The number that 8 bits stand for. */
  public static float toFloat(int bits, int format) {
    return NUMBERS[format][bits];
  }

  /** Two numbers, the first one in the upper byte; what is too large becomes the largest. */
  public static int ofPair(float high, float low, int format, boolean relu) {
    return of(high, format, relu) << 8 | of(low, format, relu);
  }

  /** The same of a packed pair of 16-bit numbers. */
  public static int ofHalves(int pair, int format, boolean relu) {
    return ofPair(
        Halves.toFloat(pair >>> 16, Halves.F16),
        Halves.toFloat(pair & 0xFFFF, Halves.F16),
        format,
        relu);
  }

  /** The packed pair of 16-bit numbers that two bytes stand for, which is exact. */
  public static int toHalves(int pair, int format, boolean relu) {
    int high = toHalf(pair >>> 8 & 255, format);
    int low = toHalf(pair & 255, format);
    if (relu) {
      high = Halves.relu(high, Halves.F16);
      low = Halves.relu(low, Halves.F16);
    }
    return high << 16 | low & 0xFFFF;
  }

  private static int of(float value, int format, boolean relu) {
    if (Float.isNaN(value)) {
      return NAN;
    }
    if (relu && value <= 0) {
      return 0;
    }
    int sign = Float.floatToRawIntBits(value) < 0 ? 0x80 : 0;
    int fraction = FRACTION_BITS[format];
    int least = 1 - BIAS[format];
    double magnitude = Math.min(Math.abs((double) value), MAX[format]);
    int exponent = Math.max(Math.getExponent(magnitude), least);
    double units = Math.rint(Math.scalb(magnitude, fraction - exponent));
    // A carry out of the fraction goes into the exponent, as it must.
    int bits = (exponent - least << fraction) + (int) units;
    return sign | bits;
  }

  private static int toHalf(int bits, int format) {
    if (format == E5M2) {
      return bits << 8;
    }
    int sign = bits >>> 7 << 15;
    int rest = bits & 0x7F;
    if (rest == 0x7F) {
      return 0x7FFF;
    }
    int exponent = rest >>> 3;
    double magnitude =
        Math.scalb((exponent == 0 ? 0 : 8) + (rest & 7), Math.max(exponent, 1) - BIAS[E4M3] - 3);
    return sign | Halves.ofFloat((float) magnitude, Halves.F16);
  }
}
