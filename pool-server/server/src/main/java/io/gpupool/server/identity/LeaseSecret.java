// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import com.google.protobuf.ByteString;
import io.gpupool.runtime.RandomHex;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * A secret that proves that a caller belongs to a lease: 128 random bits as text. Never printed.
 */
public final class LeaseSecret {
  private static final int BYTES = 16;
  private final String text;

  private LeaseSecret(String text) {
    this.text = text;
  }

  public static LeaseSecret random(SecureRandom random) {
    return new LeaseSecret(RandomHex.of(random, BYTES));
  }

  /** As a holder knows it. */
  public static LeaseSecret of(String text) {
    return new LeaseSecret(text);
  }

  /** What the pool remembers of a secret, and tells it by. */
  public record Hash(ByteString sha256) {
    /** The hash of a secret from its hexadecimal digits. */
    public static Hash of(TokenHash digits) {
      return new Hash(ByteString.copyFrom(HexFormat.of().parseHex(digits.text())));
    }

    /** Compares in a time that does not depend on where the secrets differ. */
    public boolean matches(String offered) {
      return MessageDigest.isEqual(sha256.toByteArray(), digest(offered));
    }
  }

  public Hash hash() {
    return new Hash(ByteString.copyFrom(digest(text)));
  }

  /** The secret itself, for the one message that grants the lease. */
  public String reveal() {
    return text;
  }

  private static byte[] digest(String text) {
    return HexFormat.of().parseHex(TokenHash.of(text).text());
  }

  @Override
  public String toString() {
    return "LeaseSecret[hidden]";
  }
}
