// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;

/**
 * The arithmetic of 64-bit numbers. The larger and the smaller of a NaN and a number are the
 * number.
 */
final class DoubleReduction extends FloatingReduction {
  final double[] left = new double[BLOCK_ELEMENTS];
  final double[] right = new double[BLOCK_ELEMENTS];

  DoubleReduction() {
    super(Double.BYTES);
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
    double factor = Double.longBitsToDouble(scalar);
    for (int i = 0; i < count; i++) {
      left[i] *= factor;
    }
  }

  @Override
  long nearest(double number) {
    return Double.doubleToRawLongBits(number);
  }

  private static double larger(double a, double b) {
    double larger = Math.max(a, b);
    return larger == larger ? larger : number(a, b);
  }

  private static double smaller(double a, double b) {
    double smaller = Math.min(a, b);
    return smaller == smaller ? smaller : number(a, b);
  }

  /** The one of two that is a number, if one is. */
  private static double number(double a, double b) {
    return a == a ? a : b;
  }
}
