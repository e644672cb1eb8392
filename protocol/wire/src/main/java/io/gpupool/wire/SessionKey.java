// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.security.MessageDigest;
import java.security.SecureRandom;

/** The secret that opens one session's call stream: 32 random bytes. Never printed. */
public final class SessionKey {
  public static final int BYTES = 32;
  private final byte[] key;

  private SessionKey(byte[] key) {
    this.key = key;
  }

  public static SessionKey random(SecureRandom random) {
    byte[] key = new byte[BYTES];
    random.nextBytes(key);
    return new SessionKey(key);
  }

  public static SessionKey ofBytes(byte[] bytes) throws WireException {
    if (bytes.length != BYTES) {
      throw new WireException("session key has " + bytes.length + " bytes instead of " + BYTES);
    }
    return new SessionKey(bytes.clone());
  }

  public byte[] bytes() {
    return key.clone();
  }

  /** Compares in a time that does not depend on where the keys differ. */
  public boolean matches(SessionKey other) {
    return MessageDigest.isEqual(key, other.key);
  }

  @Override
  public String toString() {
    return "SessionKey[hidden]";
  }
}
