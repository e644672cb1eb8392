// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.UUID;

/** Names a session: 16 bytes, written as 32 hexadecimal digits. Not a secret. */
public record SessionId(UUID bits) {
  public static final int BYTES = 16;

  public static SessionId random(SecureRandom random) {
    return new SessionId(new UUID(random.nextLong(), random.nextLong()));
  }

  /** Reads the id from 16 bytes; empty text or another length is an error. */
  public static SessionId ofBytes(byte[] bytes) throws WireException {
    if (bytes.length != BYTES) {
      throw new WireException("session id has " + bytes.length + " bytes instead of " + BYTES);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new SessionId(new UUID(buffer.getLong(), buffer.getLong()));
  }

  public byte[] bytes() {
    return ByteBuffer.allocate(BYTES)
        .putLong(bits.getMostSignificantBits())
        .putLong(bits.getLeastSignificantBits())
        .array();
  }

  /** The first 8 digits: what logs and tables show. */
  public String brief() {
    return toString().substring(0, 8);
  }

  @Override
  public String toString() {
    return HexFormat.of().formatHex(bytes());
  }
}
