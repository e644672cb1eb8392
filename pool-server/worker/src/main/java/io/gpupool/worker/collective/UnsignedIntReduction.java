// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The arithmetic of unsigned 32-bit integers. */
final class UnsignedIntReduction extends LongReduction {
  private static final long MASK = 0xffffffffL;

  private final int[] ints = new int[BLOCK_ELEMENTS];

  UnsignedIntReduction() {
    super(Integer.BYTES);
  }

  @Override
  void load(long leftSource, long rightSource, int count) {
    widen(leftSource, left, count);
    widen(rightSource, right, count);
  }

  private void widen(long source, long[] target, int count) {
    Elements.load(source, ints, count);
    for (int i = 0; i < count; i++) {
      target[i] = ints[i] & MASK;
    }
  }

  @Override
  void store(long target, int count) {
    for (int i = 0; i < count; i++) {
      ints[i] = (int) left[i];
    }
    Elements.store(ints, target, count);
  }
}
