// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The arithmetic of IEEE 16-bit numbers, in 32 bits and rounded to nearest even. */
final class Float16Reduction extends FloatReduction {
  private final short[] halves = new short[BLOCK_ELEMENTS];

  Float16Reduction() {
    super(Short.BYTES);
  }

  @Override
  void load(long leftSource, long rightSource, int count) {
    widen(leftSource, left, count);
    widen(rightSource, right, count);
  }

  private void widen(long source, float[] target, int count) {
    Elements.load(source, halves, count);
    for (int i = 0; i < count; i++) {
      target[i] = Float.float16ToFloat(halves[i]);
    }
  }

  @Override
  void store(long target, int count) {
    for (int i = 0; i < count; i++) {
      halves[i] = Float.floatToFloat16(left[i]);
    }
    Elements.store(halves, target, count);
  }

  @Override
  long nearest(double number) {
    return Float.floatToFloat16((float) number);
  }

  @Override
  float factor(long scalar) {
    return Float.float16ToFloat((short) scalar);
  }
}
