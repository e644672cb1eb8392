// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What a client sends first on a call stream.
 *
 * <pre>
 *  0                  8            10           12        16             32              64
 *  +------------------+------------+------------+---------+--------------+---------------+
 *  | "GPUPOOL" 0x01   | versionMin | versionMax | flags 0 | session id   | session key   |
 *  +------------------+------------+------------+---------+--------------+---------------+
 * </pre>
 *
 * @param versionMin lowest call-stream version the client speaks
 * @param versionMax highest call-stream version the client speaks
 */
public record ClientHello(int versionMin, int versionMax, SessionId session, SessionKey key) {
  public static final int BYTES = 64;
  private static final int MAGIC_BYTES = 8;
  private static final int VERSION_MIN_OFFSET = 8;
  private static final int VERSION_MAX_OFFSET = 10;
  private static final int FLAGS_OFFSET = 12;
  private static final int SESSION_OFFSET = 16;
  private static final int KEY_OFFSET = 32;
  private static final byte[] MAGIC = "GPUPOOL\u0001".getBytes(StandardCharsets.US_ASCII);

  /** True as long as these bytes can be the start of a hello; lets strangers be cut off early. */
  public static boolean canStartWith(ByteBuffer bytes) {
    int count = Math.min(bytes.remaining(), MAGIC_BYTES);
    for (int i = 0; i < count; i++) {
      if (bytes.get(bytes.position() + i) != MAGIC[i]) {
        return false;
      }
    }
    return true;
  }

  public byte[] encode() {
    return ByteBuffer.allocate(BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(MAGIC)
        .putShort((short) versionMin)
        .putShort((short) versionMax)
        .putInt(0)
        .put(session.bytes())
        .put(key.bytes())
        .array();
  }

  /** Parses {@link #BYTES} bytes. */
  public static ClientHello decode(byte[] bytes) throws WireException {
    if (bytes.length != BYTES) {
      throw new WireException("handshake has " + bytes.length + " bytes instead of " + BYTES);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (!canStartWith(buffer)) {
      throw new WireException("not a gpupool call stream (bad magic)");
    }
    if (buffer.getInt(FLAGS_OFFSET) != 0) {
      throw new WireException("handshake asks for features that this version does not know");
    }
    int min = Short.toUnsignedInt(buffer.getShort(VERSION_MIN_OFFSET));
    int max = Short.toUnsignedInt(buffer.getShort(VERSION_MAX_OFFSET));
    if (min > max) {
      throw new WireException("handshake offers versions " + min + " to " + max);
    }
    return new ClientHello(
        min,
        max,
        SessionId.ofBytes(Arrays.copyOfRange(bytes, SESSION_OFFSET, KEY_OFFSET)),
        SessionKey.ofBytes(Arrays.copyOfRange(bytes, KEY_OFFSET, BYTES)));
  }
}
