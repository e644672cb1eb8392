// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;
import io.gpupool.soft.exec.arithmetic.SmallFloats;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of 8-bit floating numbers, by tables of all results. They are computed in 32 bits
 * and rounded to nearest even; what is too large becomes the largest number.
 */
final class Float8Reduction extends FloatingReduction {
  private static final int OPERATIONS = ReduceOperation.MINIMUM + 1;

  private final int format;
  private final byte[] @Nullable [] tables = new byte[OPERATIONS][];
  private final byte[] left = new byte[BLOCK_ELEMENTS];
  private final byte[] right = new byte[BLOCK_ELEMENTS];

  Float8Reduction(ElementType type) {
    super(Byte.BYTES);
    format = type == ElementType.FLOAT8_E4M3 ? SmallFloats.E4M3 : SmallFloats.E5M2;
  }

  @Override
  void load(long leftSource, long rightSource, int count) {
    Elements.load(leftSource, left, count);
    Elements.load(rightSource, right, count);
  }

  @Override
  void store(long target, int count) {
    Elements.store(left, target, count);
  }

  @Override
  void combineBlock(int operation, int count) {
    byte[] table = table(operation < OPERATIONS ? operation : ReduceOperation.SUM);
    for (int i = 0; i < count; i++) {
      left[i] = table[(left[i] & 0xff) << 8 | right[i] & 0xff];
    }
  }

  @Override
  void multiplyBlock(long scalar, int count) {
    byte[] table = table(ReduceOperation.PRODUCT);
    int factor = (int) scalar & 0xff;
    for (int i = 0; i < count; i++) {
      left[i] = table[(left[i] & 0xff) << 8 | factor];
    }
  }

  @Override
  long nearest(double number) {
    return rounded((float) number);
  }

  private byte[] table(int operation) {
    byte[] table = tables[operation];
    if (table == null) {
      table = new byte[1 << 16];
      for (int pair = 0; pair < table.length; pair++) {
        table[pair] = result(operation, number(pair >> 8), number(pair));
      }
      tables[operation] = table;
    }
    return table;
  }

  private byte result(int operation, float a, float b) {
    return rounded(
        switch (operation) {
          case ReduceOperation.PRODUCT -> a * b;
          case ReduceOperation.MAXIMUM -> FloatReduction.larger(a, b);
          case ReduceOperation.MINIMUM -> FloatReduction.smaller(a, b);
          default -> a + b;
        });
  }

  private float number(int bits) {
    return SmallFloats.toFloat(bits & 0xff, format);
  }

  private byte rounded(float value) {
    return (byte) SmallFloats.ofPair(0, value, format, false);
  }
}
