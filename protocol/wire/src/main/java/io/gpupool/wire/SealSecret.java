// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * The secret from which the keys of one sealed connection come: 32 random bytes, which only the
 * program, its agent, the server and the worker learn. Never printed.
 */
public final class SealSecret {
  public static final int BYTES = 32;
  private final byte[] secret;

  private SealSecret(byte[] secret) {
    this.secret = secret;
  }

  public static SealSecret random(SecureRandom random) {
    byte[] secret = new byte[BYTES];
    random.nextBytes(secret);
    return new SealSecret(secret);
  }

  public static SealSecret ofBytes(byte[] bytes) throws WireException {
    if (bytes.length != BYTES) {
      throw new WireException("secret has " + bytes.length + " bytes instead of " + BYTES);
    }
    return new SealSecret(bytes.clone());
  }

  public byte[] bytes() {
    return secret.clone();
  }

  /** Returns the form in which programs and workers get it. */
  public String hex() {
    return HexFormat.of().formatHex(secret);
  }

  @Override
  public String toString() {
    return "SealSecret[hidden]";
  }
}
