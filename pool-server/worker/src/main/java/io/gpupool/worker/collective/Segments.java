// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The pieces that large transfers are cut into, so that ranks work at the same time. */
final class Segments {
  /** Of a whole number of elements of any type. */
  static final int BYTES = 256 << 10;

  private Segments() {}

  static long lengthBytes(long restBytes) {
    return Math.min(restBytes, BYTES);
  }
}
