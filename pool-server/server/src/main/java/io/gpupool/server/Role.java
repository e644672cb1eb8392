// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.Locale;

/** What a token allows; each role may do what those before it may. */
public enum Role {
  READ_ONLY,
  USER,
  ADMIN;

  public boolean covers(Role other) {
    return compareTo(other) >= 0;
  }

  /** How people write it: {@code read-only}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * The role of this text.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Role ofText(String text) {
    return valueOf(text.toUpperCase(Locale.ROOT).replace('-', '_'));
  }
}
