// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.time.Duration;
import java.util.Locale;

/** A span of time, as people read it. */
public record ElapsedTime(long millis) {
  /** Returns {@code 1m30s} or {@code 0.1s}. */
  @Override
  public String toString() {
    return Duration.ofMillis(millis).toString().substring(2).toLowerCase(Locale.ROOT);
  }
}
