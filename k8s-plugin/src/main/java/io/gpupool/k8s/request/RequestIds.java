// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The ids of lease requests, which become the leases' secrets. Only those who have the key know
 * them, and all of them make the same ids.
 */
public final class RequestIds {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int MIN_KEY_BYTES = 16;
  private static final int ID_BYTES = 16;

  private final SecretKeySpec key;

  /** Throws {@link IllegalArgumentException} for a key that is too short. */
  public RequestIds(byte[] key) {
    if (key.length < MIN_KEY_BYTES) {
      throw new IllegalArgumentException(
          "the key of the leases has " + key.length + " bytes; at least " + MIN_KEY_BYTES);
    }
    this.key = new SecretKeySpec(key, ALGORITHM);
  }

  /** Returns the id for a name: 32 hexadecimal digits. */
  public String of(String text) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      byte[] hash = mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, ID_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this Java has no " + ALGORITHM, e);
    }
  }
}
