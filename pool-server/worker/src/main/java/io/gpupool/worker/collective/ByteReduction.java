// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The arithmetic of 8-bit integers. */
final class ByteReduction extends IntReduction {
  private final byte[] bytes = new byte[BLOCK_ELEMENTS];
  private final int mask;

  ByteReduction(boolean signed) {
    super(Byte.BYTES);
    mask = signed ? -1 : 0xff;
  }

  @Override
  void load(long leftSource, long rightSource, int count) {
    widen(leftSource, left, count);
    widen(rightSource, right, count);
  }

  private void widen(long source, int[] target, int count) {
    Elements.load(source, bytes, count);
    for (int i = 0; i < count; i++) {
      target[i] = bytes[i];
    }
    for (int i = 0; i < count; i++) {
      target[i] &= mask;
    }
  }

  @Override
  void store(long target, int count) {
    for (int i = 0; i < count; i++) {
      bytes[i] = (byte) left[i];
    }
    Elements.store(bytes, target, count);
  }
}
