// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The arithmetic of unsigned 64-bit integers, where it differs from that of signed ones. */
final class UnsignedLongReduction extends LongReduction {
  UnsignedLongReduction() {
    super(Long.BYTES);
  }

  @Override
  void maximum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = Math.max(left[i] ^ Long.MIN_VALUE, right[i] ^ Long.MIN_VALUE) ^ Long.MIN_VALUE;
    }
  }

  @Override
  void minimum(int count) {
    for (int i = 0; i < count; i++) {
      left[i] = Math.min(left[i] ^ Long.MIN_VALUE, right[i] ^ Long.MIN_VALUE) ^ Long.MIN_VALUE;
    }
  }

  @Override
  void divideBlock(int divisor, int count) {
    for (int i = 0; i < count; i++) {
      left[i] = Long.divideUnsigned(left[i], divisor);
    }
  }
}
