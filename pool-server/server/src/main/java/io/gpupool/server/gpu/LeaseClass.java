// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A class of leases by how their programs use a GPU's time, which decides how soon their time
 * slices come.
 */
public enum LeaseClass {
  /** They compute for as long as there is something to do; time slices come in line. */
  BATCH,
  /**
   * They serve requests; time slices come as soon as they can while they use less than their share.
   */
  LATENCY;

  /** As people write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Reads it; empty is {@link #BATCH}.
   *
   * @throws IllegalArgumentException if it is none; the message is for people
   */
  public static LeaseClass of(String text) {
    return Arrays.stream(values())
        .filter(known -> text.isEmpty() ? known == BATCH : known.text().equals(text))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "there is no class '"
                    + text
                    + "' of leases; give "
                    + Arrays.stream(values())
                        .map(LeaseClass::text)
                        .collect(Collectors.joining(" or "))));
  }
}
