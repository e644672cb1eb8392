// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/** Proves that a caller belongs to a lease: 128 random bits as text. Never printed. */
final class LeaseSecret {
  private static final int BYTES = 16;
  private final byte[] text;

  private LeaseSecret(byte[] text) {
    this.text = text;
  }

  static LeaseSecret random(SecureRandom random) {
    byte[] bits = new byte[BYTES];
    random.nextBytes(bits);
    return new LeaseSecret(HexFormat.of().formatHex(bits).getBytes(StandardCharsets.US_ASCII));
  }

  /** Compares in a time that does not depend on where the texts differ. */
  boolean matches(String offered) {
    return MessageDigest.isEqual(text, offered.getBytes(StandardCharsets.UTF_8));
  }

  /** The secret itself, for the one message that grants the lease. */
  String reveal() {
    return new String(text, StandardCharsets.US_ASCII);
  }

  @Override
  public String toString() {
    return "LeaseSecret[hidden]";
  }
}
