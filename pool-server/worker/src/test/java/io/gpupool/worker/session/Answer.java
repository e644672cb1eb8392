// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** One answer frame as the client sees it. */
record Answer(int kind, int tag, int result, byte[] payload) {
  long u64(int offset) {
    return words().getLong(offset);
  }

  int i32(int offset) {
    return words().getInt(offset);
  }

  /** The variable output that starts at an offset. */
  byte[] variable(int offset) {
    int length = (int) u64(offset);
    return Arrays.copyOfRange(payload, offset + 8, offset + 8 + length);
  }

  /** The bytes of a DATA frame. */
  byte[] data() {
    return Arrays.copyOfRange(payload, 8, 8 + result);
  }

  String text() {
    return new String(payload, StandardCharsets.UTF_8).trim();
  }

  private ByteBuffer words() {
    return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
  }
}
