// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.register;

import java.time.Instant;

/**
 * The time that {@code %globaltimer} tells. It goes on from the time of day at the start by the
 * monotonic clock, which is the cheaper one to ask: loops that wait ask at every turn.
 */
public final class GlobalTimer {
  private static final long START = nanosOf(Instant.now()) - System.nanoTime();

  private GlobalTimer() {}

  /** Nanoseconds since 1970. */
  public static long nanos() {
    return START + System.nanoTime();
  }

  private static long nanosOf(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }
}
