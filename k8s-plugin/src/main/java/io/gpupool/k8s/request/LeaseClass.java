// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** The class of a lease, as in the pool's lease requests. */
public enum LeaseClass {
  BATCH,
  /** They serve requests: their turns of a GPU come as soon as they can. */
  LATENCY;

  /** All, for messages. */
  public static final String ALL = "batch or latency";

  /** As people and the pool write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** As a lease request has it: the usual one goes without saying. */
  public String wish() {
    return this == BATCH ? "" : text();
  }

  /** Empty if it is none. */
  public static Optional<LeaseClass> of(String text) {
    return Arrays.stream(values()).filter(known -> known.text().equals(text)).findFirst();
  }
}
