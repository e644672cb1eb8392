// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.warmup;

import io.gpupool.cuda.LaunchRequest;
import io.gpupool.cuda.RequestHeader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writer of request frames of one context, as a program's shim sends them. */
public final class WarmUpFrames {
  private static final int CONTEXT = 1;
  private static final int HEADER_BYTES = RequestHeader.BYTES;
  private static final int LAUNCH_BYTES = LaunchRequest.BYTES + Long.BYTES;

  private final ByteBuffer bytes = ByteBuffer.allocate(64 << 10).order(ByteOrder.LITTLE_ENDIAN);

  public void posted(int op, long... slots) {
    begin(op, HEADER_BYTES + 8 * slots.length);
    put(slots);
  }

  public void fenced(int op, int tag, long... slots) {
    begin(op, HEADER_BYTES + 8 + 8 * slots.length);
    bytes.putLong(tag);
    put(slots);
  }

  /** A posted op whose last field is a buffer. */
  public void postedText(int op, String text, long... slots) {
    byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
    int padded = (encoded.length + 7) & -8;
    begin(op, HEADER_BYTES + 8 * slots.length + 8 + padded);
    put(slots);
    bytes.putLong(encoded.length).put(encoded).put(new byte[padded - encoded.length]);
  }

  /** A launch of one thread with one parameter. */
  public void launch(int op, int function, long parameter) {
    begin(op, LAUNCH_BYTES);
    bytes.putInt(function).putInt(0);
    for (int i = 0; i < 6; i++) {
      bytes.putInt(1);
    }
    bytes.putInt(0).putInt(0).putInt(8).putInt(0).putLong(parameter);
  }

  /** Returns and forgets the frames that were written. */
  public byte[] take() {
    byte[] taken = new byte[bytes.position()];
    bytes.get(0, taken);
    bytes.clear();
    return taken;
  }

  private void begin(int op, int lengthBytes) {
    bytes.putInt(lengthBytes).putShort((short) op).putShort((short) CONTEXT);
  }

  private void put(long[] slots) {
    for (long slot : slots) {
      bytes.putLong(slot);
    }
  }
}
