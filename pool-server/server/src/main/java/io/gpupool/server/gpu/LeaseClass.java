// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
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

  /** All of them, as messages list them. */
  public static final String TEXTS =
      Arrays.stream(values()).map(LeaseClass::text).collect(Collectors.joining(" or "));

  /** As people write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Reads a class; the empty text is {@link #BATCH}. Returns empty if it is none. */
  public static Optional<LeaseClass> parse(String text) {
    return Arrays.stream(values())
        .filter(known -> text.isEmpty() ? known == BATCH : known.text().equals(text))
        .findFirst();
  }

  /**
   * Reads a class of a message; one that is not specified is {@link #BATCH}. Returns empty if a
   * later version has sent it.
   */
  public static Optional<LeaseClass> of(io.gpupool.control.v1.LeaseClass message) {
    return switch (message) {
      case LEASE_CLASS_UNSPECIFIED, LEASE_CLASS_BATCH -> Optional.of(BATCH);
      case LEASE_CLASS_LATENCY -> Optional.of(LATENCY);
      case UNRECOGNIZED -> Optional.empty();
    };
  }

  /** Returns the class as messages have it. */
  public io.gpupool.control.v1.LeaseClass message() {
    return switch (this) {
      case BATCH -> io.gpupool.control.v1.LeaseClass.LEASE_CLASS_BATCH;
      case LATENCY -> io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
    };
  }
}
