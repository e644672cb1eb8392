// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;

/** The arithmetic of 64-bit integers, and of what becomes them where it is loaded. */
class LongReduction extends IntegerReduction {
  final long[] left = new long[BLOCK_ELEMENTS];
  final long[] right = new long[BLOCK_ELEMENTS];

  LongReduction(int elementBytes) {
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

  void maximum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = Math.max(left[i], right[i]);
    }
  }

  void minimum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = Math.min(left[i], right[i]);
    }
  }

  @Override
  void multiplyBlock(long scalar, int count) {
    long factor = scalar;
    for (int i = 0; i < count; i++) {
      left[i] *= factor;
    }
  }

  @Override
  void divideBlock(int divisor, int count) {
    for (int i = 0; i < count; i++) {
      left[i] /= divisor;
    }
  }
}
