// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.jspecify.annotations.Nullable;

/**
 * The secret that two workers of a program share since their first connection. It proves that a
 * later one comes from the same worker; the peer key does not, for others have seen it. Any thread
 * may use it.
 */
final class PeerSecret {
  static final int BYTES = 32;
  private static final int HASHED_BLOCK_BYTES = 64;
  private static final int INNER = 0x36;
  private static final int OUTER = 0x5c;

  @GuardedBy("this")
  private byte @Nullable [] secret;

  /** Returns whether there is one. */
  synchronized boolean isKnown() {
    return secret != null;
  }

  /** Takes the first one; false if it is not the one that there is. */
  synchronized boolean learn(byte[] shown) {
    if (secret == null) {
      secret = shown.clone();
    }
    return MessageDigest.isEqual(secret, shown);
  }

  /** Returns it, as the other worker gets it once. */
  synchronized byte[] shown() {
    if (secret == null) {
      throw new IllegalStateException("there is no secret yet");
    }
    return secret.clone();
  }

  /** Returns whether a proof is right; never without a secret. */
  boolean isProof(byte[] shown, byte[] nonce, long position) {
    return isKnown() && MessageDigest.isEqual(proof(nonce, position), shown);
  }

  /** Proves the knowledge of it for one connection: HMAC-SHA-256 of nonce and position. */
  byte[] proof(byte[] nonce, long position) {
    byte[] key = shown();
    byte[] text =
        ByteBuffer.allocate(nonce.length + Long.BYTES).put(nonce).putLong(position).array();
    return hash(pad(key, OUTER), hash(pad(key, INNER), text));
  }

  private static byte[] pad(byte[] key, int with) {
    byte[] padded = new byte[HASHED_BLOCK_BYTES];
    System.arraycopy(key, 0, padded, 0, key.length);
    for (int i = 0; i < padded.length; i++) {
      padded[i] ^= (byte) with;
    }
    return padded;
  }

  private static byte[] hash(byte[] first, byte[] second) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      sha256.update(first);
      return sha256.digest(second);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
