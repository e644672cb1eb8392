// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.Deflater;

/**
 * A list of functions on its way to the program. Mangled names are long and much alike: packed, a
 * list fits into what TCP sends in a first round trip.
 */
final class PackedList {
  /** In place of the length of the first name. */
  static final int MARK = -1;

  private static final int HEADER_BYTES = 8;
  private static final int WORTH_BYTES = 4 << 10;

  private PackedList() {}

  /** Returns the list as it is sent: packed if that makes it shorter. */
  static byte[] of(byte[] list) {
    if (list.length < WORTH_BYTES) {
      return list;
    }
    byte[] packed = new byte[list.length];
    ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN).putInt(MARK).putInt(list.length);
    Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
    try {
      deflater.setInput(list);
      deflater.finish();
      int length = deflater.deflate(packed, HEADER_BYTES, packed.length - HEADER_BYTES);
      return deflater.finished() ? Arrays.copyOf(packed, HEADER_BYTES + length) : list;
    } finally {
      deflater.end();
    }
  }
}
