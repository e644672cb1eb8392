// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/** Arithmetic on two single-precision numbers packed in 64 bits. Called by generated code. */
public final class FloatPairs {
  public static final int ADD = 0;
  public static final int SUB = 1;
  public static final int MUL = 2;
  public static final int FMA = 3;

  private FloatPairs() {}

  /**
   * Works on both numbers.
   *
   * @param mode of {@link Rounding}
   * @param flush whether subnormal operands and results become zero
   */
  public static long apply(long a, long b, long c, int operation, int mode, boolean flush) {
    int low = one((int) a, (int) b, (int) c, operation, mode, flush);
    int high = one((int) (a >>> 32), (int) (b >>> 32), (int) (c >>> 32), operation, mode, flush);
    return (long) high << 32 | low & 0xFFFF_FFFFL;
  }

  private static int one(int a, int b, int c, int operation, int mode, boolean flush) {
    float x = operand(a, flush);
    float y = operand(b, flush);
    float result =
        switch (operation) {
          case ADD -> mode == Rounding.NEAREST ? x + y : Floats.add(x, y, mode);
          case SUB -> mode == Rounding.NEAREST ? x - y : Floats.add(x, -y, mode);
          case MUL -> mode == Rounding.NEAREST ? x * y : Floats.mul(x, y, mode);
          default -> {
            float z = operand(c, flush);
            yield mode == Rounding.NEAREST ? Math.fma(x, y, z) : Floats.fma(x, y, z, mode);
          }
        };
    return Float.floatToRawIntBits(flush ? Floats.flush(result) : result);
  }

  private static float operand(int bits, boolean flush) {
    float value = Float.intBitsToFloat(bits);
    return flush ? Floats.flush(value) : value;
  }
}
