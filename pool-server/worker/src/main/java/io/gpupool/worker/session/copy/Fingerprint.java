// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.worker.os.Memory;

/** A 64-bit fingerprint of a block of memory, by which a change of it is noticed; never 0. */
public final class Fingerprint {
  private static final long A = 0x9e3779b97f4a7c15L;
  private static final long B = 0xd1b54a32d192ed03L;
  private static final int STRIDE_BYTES = 32;

  private Fingerprint() {}

  /** Of any number of bytes, wherever they begin. */
  public static long of(long address, int lengthBytes) {
    long one = lengthBytes;
    long two = A;
    long three = B;
    long four = ~(long) lengthBytes;
    int strides = lengthBytes / STRIDE_BYTES;
    for (int i = 0; i < strides; i++) {
      long at = address + (long) i * STRIDE_BYTES;
      one = step(one, Memory.getLong(at));
      two = step(two, Memory.getLong(at + 8));
      three = step(three, Memory.getLong(at + 16));
      four = step(four, Memory.getLong(at + 24));
    }
    for (int i = strides * STRIDE_BYTES; i < lengthBytes; i++) {
      one = step(one, Memory.getByte(address + i));
    }
    long all =
        one + Long.rotateLeft(two, 7) + Long.rotateLeft(three, 12) + Long.rotateLeft(four, 18);
    all = (all ^ all >>> 32) * A;
    all = (all ^ all >>> 29) * B;
    all ^= all >>> 32;
    return all == 0 ? 1 : all;
  }

  /** For a given lane, different words give different lanes. */
  private static long step(long lane, long word) {
    return Long.rotateLeft(lane + word * A, 29) * B;
  }
}
