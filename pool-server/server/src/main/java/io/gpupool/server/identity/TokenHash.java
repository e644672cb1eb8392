// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The SHA-256 of a token, under which the pool knows it: 64 hexadecimal digits. */
public record TokenHash(String text) {
  private static final int ID_DIGITS = 12;

  public static TokenHash of(String token) {
    try {
      return new TokenHash(
          HexFormat.of()
              .formatHex(
                  MessageDigest.getInstance("SHA-256")
                      .digest(token.getBytes(StandardCharsets.UTF_8))));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What people call the token: the first digits. */
  public String id() {
    return text.substring(0, ID_DIGITS);
  }
}
