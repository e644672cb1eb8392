// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

import java.util.HexFormat;

/**
 * The name by which the sessions of a lease know a shared thing: 32 random bytes, as four words.
 */
public record Token(long word0, long word1, long word2, long word3) {
  private static final int TEXT_LENGTH = 64;

  /**
   * Reads {@link #text}.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static Token parse(String text) {
    if (text.length() != TEXT_LENGTH) {
      throw new IllegalArgumentException("not a token of 32 bytes: " + text);
    }
    return new Token(word(text, 0), word(text, 1), word(text, 2), word(text, 3));
  }

  /** In hexadecimal digits. */
  public String text() {
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(word0)
        + hex.toHexDigits(word1)
        + hex.toHexDigits(word2)
        + hex.toHexDigits(word3);
  }

  private static long word(String text, int index) {
    return HexFormat.fromHexDigitsToLong(text, 16 * index, 16 * (index + 1));
  }
}
