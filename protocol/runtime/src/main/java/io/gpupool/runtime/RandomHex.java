// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.security.SecureRandom;
import java.util.HexFormat;

/** Random bytes in hexadecimal: names that are unique, and secrets that nobody guesses. */
public final class RandomHex {
  private RandomHex() {}

  /** Returns twice as many digits as there are bytes. */
  public static String of(SecureRandom random, int bytes) {
    byte[] bits = new byte[bytes];
    random.nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
