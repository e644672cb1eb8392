// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;

/** A role of a token. Each role may do what those before it may. */
public enum Role {
  /** A pod of a Kubernetes cluster, which uses its own leases and does nothing else. */
  POD,
  READ_ONLY,
  USER,
  ADMIN;

  /**
   * Returns the highest role that an issuer's claim names, with or without {@code gpupool-} in
   * front.
   */
  public static Role highestOf(Collection<String> names) {
    return Arrays.stream(values())
        .filter(role -> role != POD)
        .filter(role -> names.contains(role.text()) || names.contains("gpupool-" + role.text()))
        .max(Comparator.naturalOrder())
        .orElse(USER);
  }

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
