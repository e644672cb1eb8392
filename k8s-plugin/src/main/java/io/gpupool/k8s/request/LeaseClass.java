// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** The class of a lease, as in the pool's lease requests. */
public enum LeaseClass {
  BATCH,
  /** For programs that serve requests: their turns on a GPU come as soon as possible. */
  LATENCY;

  /** The names of all classes, for messages. */
  public static final String ALL = "batch or latency";

  /** Returns the name that people and the pool write. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the value in a lease request. */
  public io.gpupool.control.v1.LeaseClass message() {
    return switch (this) {
      case BATCH -> io.gpupool.control.v1.LeaseClass.LEASE_CLASS_BATCH;
      case LATENCY -> io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
    };
  }

  /** Returns the class of a name; empty if there is none. */
  public static Optional<LeaseClass> of(String text) {
    return Arrays.stream(values()).filter(known -> known.text().equals(text)).findFirst();
  }
}
