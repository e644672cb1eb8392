// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The pieces that large transfers are cut into, so that ranks work at the same time. */
final class Segments {
  /** Of a whole number of elements of any type. */
  static final int BYTES = 256 << 10;

  private Segments() {}

  /** Of a piece that scratch memory is to hold. */
  static void check(long lengthBytes) {
    if (lengthBytes < 0 || lengthBytes > BYTES) {
      throw new IllegalArgumentException(lengthBytes + " bytes are no segment");
    }
  }

  static long lengthBytes(long restBytes) {
    return Math.min(restBytes, BYTES);
  }
}
