// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The pool-server's answer to a {@link ClientHello}; when it accepts, the worker's bytes follow.
 *
 * <pre>
 *  0            4           6               8
 *  +------------+-----------+---------------+-------------+
 *  | u32 status | u16 vers. | u16 textBytes | text, UTF-8 |
 *  +------------+-----------+---------------+-------------+
 * </pre>
 *
 * @param status 0: accepted; else one of the constants
 * @param version the call-stream version to speak from here on
 * @param text why the stream was not accepted; empty when it was
 */
public record ServerHello(int status, int version, String text) {
  public static final int HEADER_BYTES = 8;
  public static final int MAX_TEXT_BYTES = 1024;
  public static final int ACCEPTED = 0;
  public static final int BAD_HANDSHAKE = 1;
  public static final int BAD_VERSION = 2;

  /** The session is not known, has ended, or the key is another's; deliberately one status. */
  public static final int BAD_SESSION = 3;

  public static final int BUSY = 4;
  public static final int INTERNAL = 5;

  /** The token by which the session was opened is valid no more. */
  public static final int DENIED = 6;

  public static ServerHello accepted(int version) {
    return new ServerHello(ACCEPTED, version, "");
  }

  public static ServerHello refused(int status, String text) {
    return new ServerHello(status, 0, text);
  }

  public boolean isAccepted() {
    return status == ACCEPTED;
  }

  public byte[] encode() {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int count = Math.min(bytes.length, MAX_TEXT_BYTES);
    return ByteBuffer.allocate(HEADER_BYTES + count)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(status)
        .putShort((short) version)
        .putShort((short) count)
        .put(bytes, 0, count)
        .array();
  }

  /** The number of text bytes announced by a complete header, checked. */
  public static int textBytes(byte[] header) throws WireException {
    int count = Short.toUnsignedInt(words(header).getShort(6));
    if (count > MAX_TEXT_BYTES) {
      throw new WireException("handshake answer of " + count + " bytes, limit " + MAX_TEXT_BYTES);
    }
    return count;
  }

  /** Parses a header and all of its text. */
  public static ServerHello decode(byte[] bytes) throws WireException {
    if (bytes.length < HEADER_BYTES || bytes.length != HEADER_BYTES + textBytes(bytes)) {
      throw new WireException("handshake answer is cut off");
    }
    ByteBuffer words = words(bytes);
    byte[] text = Arrays.copyOfRange(bytes, HEADER_BYTES, bytes.length);
    return new ServerHello(
        words.getInt(0),
        Short.toUnsignedInt(words.getShort(4)),
        new String(text, StandardCharsets.UTF_8));
  }

  private static ByteBuffer words(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
