// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The secret that two workers of a program share since their first connection. It proves that a
 * later one comes from the same worker; the peer key does not, for others have seen it. Any thread
 * may use it.
 */
final class PeerSecret {
  static final int BYTES = 32;
  private static final String ALGORITHM = "HmacSHA256";

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
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(shown(), ALGORITHM));
      mac.update(nonce);
      return mac.doFinal(ByteBuffer.allocate(Long.BYTES).putLong(position).array());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this Java has no " + ALGORITHM, e);
    }
  }
}
