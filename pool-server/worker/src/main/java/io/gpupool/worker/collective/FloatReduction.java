// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;

/**
 * The arithmetic of 32-bit numbers, and of what becomes them where it is loaded. The larger and the
 * smaller of a NaN and a number are the number.
 */
class FloatReduction extends FloatingReduction {
  final float[] left = new float[BLOCK_ELEMENTS];
  final float[] right = new float[BLOCK_ELEMENTS];

  FloatReduction(int elementBytes) {
    super(elementBytes);
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
  final void combineBlock(int operation, int count) {
    switch (operation) {
      case ReduceOperation.PRODUCT -> product(count);
      case ReduceOperation.MAXIMUM -> maximum(count);
      case ReduceOperation.MINIMUM -> minimum(count);
      default -> sum(count);
    }
  }

  private void sum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] += right[i];
    }
  }

  private void product(int count) {
    for (int i = 0; i < count; i++) {
      left[i] *= right[i];
    }
  }

  private void maximum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = larger(left[i], right[i]);
    }
  }

  private void minimum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = smaller(left[i], right[i]);
    }
  }

  @Override
  void multiplyBlock(long scalar, int count) {
    float factor = factor(scalar);
    for (int i = 0; i < count; i++) {
      left[i] *= factor;
    }
  }

  @Override
  long nearest(double number) {
    return Float.floatToRawIntBits((float) number);
  }

  /** The number that the bits of an element stand for. */
  float factor(long scalar) {
    return Float.intBitsToFloat((int) scalar);
  }

  static float larger(float a, float b) {
    float larger = Math.max(a, b);
    return larger == larger ? larger : number(a, b);
  }

  static float smaller(float a, float b) {
    float smaller = Math.min(a, b);
    return smaller == smaller ? smaller : number(a, b);
  }

  /** The one of two that is a number, if one is. */
  private static float number(float a, float b) {
    return a == a ? a : b;
  }
}
