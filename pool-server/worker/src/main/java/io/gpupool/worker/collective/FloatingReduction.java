// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/**
 * The arithmetic on floating-point numbers. An average is a sum of inputs that are multiplied by
 * the reciprocal of their number, so that it overflows where the result would alone.
 */
abstract non-sealed class FloatingReduction extends Reduction {
  FloatingReduction(int elementBytes) {
    super(elementBytes);
  }

  /** Returns the bits of the element that is nearest to a number. */
  abstract long nearest(double number);
}
