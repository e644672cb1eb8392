// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/** What a token allows; each role may do what those before it may. */
enum Role {
  READ_ONLY,
  USER,
  ADMIN;

  boolean covers(Role other) {
    return compareTo(other) >= 0;
  }

  /** How people write it: {@code read-only}. */
  String text() {
    return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }
}
