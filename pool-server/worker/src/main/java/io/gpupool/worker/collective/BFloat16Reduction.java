// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * The arithmetic of bfloat16 numbers, in 32 bits and rounded to nearest even. Its loops are over
 * pairs of numbers in an int, and have no branches, so that they become vector instructions. In the
 * arrays, the first numbers of all pairs come before the second ones.
 */
final class BFloat16Reduction extends FloatReduction {
  private static final int INFINITY = 0x7f800000;
  private static final int NAN = 0x7fff0000;
  private static final int UPPER = 0xffff0000;

  private final int[] pairs = new int[BLOCK_ELEMENTS / 2];
  private final int[] first = new int[BLOCK_ELEMENTS / 2];
  private final int[] second = new int[BLOCK_ELEMENTS / 2];

  BFloat16Reduction() {
    super(Short.BYTES);
  }

  @Override
  void load(long leftSource, long rightSource, int count) {
    widen(leftSource, left, count);
    widen(rightSource, right, count);
  }

  private void widen(long source, float[] target, int count) {
    Elements.loadBytes(source, pairs, count * Short.BYTES);
    int length = count + 1 >> 1;
    for (int i = 0; i < length; i++) {
      first[i] = pairs[i] << 16;
    }
    for (int i = 0; i < length; i++) {
      second[i] = pairs[i] & UPPER;
    }
    Elements.reinterpret(first, target, 0, length);
    Elements.reinterpret(second, target, length, length);
  }

  @Override
  void store(long target, int count) {
    int length = count + 1 >> 1;
    Elements.reinterpret(left, 0, first, length);
    Elements.reinterpret(left, length, second, length);
    round(first, length);
    round(second, length);
    for (int i = 0; i < length; i++) {
      pairs[i] = first[i] >>> 16 | second[i];
    }
    Elements.storeBytes(pairs, target, count * Short.BYTES);
  }

  /** Leaves what is rounded in the upper halves. */
  private static void round(int[] words, int length) {
    for (int i = 0; i < length; i++) {
      int bits = words[i];
      int rounded = bits + 0x7fff + (bits >>> 16 & 1) & UPPER;
      int allOnesIfNan = INFINITY - (bits & 0x7fffffff) >> 31;
      words[i] = rounded & ~allOnesIfNan | NAN & allOnesIfNan;
    }
  }

  @Override
  long nearest(double number) {
    int[] word = {Float.floatToRawIntBits((float) number)};
    round(word, 1);
    return word[0] >>> 16;
  }

  @Override
  float factor(long scalar) {
    return Float.intBitsToFloat((int) scalar << 16);
  }
}
