// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.time.Duration;
import java.time.Instant;

/**
 * A clock, and tasks at a later time on the thread of an event loop; tests have one of their own.
 */
public interface Timers {
  long nowNanos();

  /** The time of day: milliseconds since 1970. */
  long wallMillis();

  /** The time of day. */
  default Instant now() {
    return Instant.ofEpochMilli(wallMillis());
  }

  /** Runs {@code task} on the loop's thread after a delay. */
  Cancellable after(long delayMillis, Runnable task);

  /** Runs {@code task} on the loop's thread after a delay, to the millisecond. */
  default Cancellable after(Duration delay, Runnable task) {
    return after(delay.plusNanos(999_999).toMillis(), task);
  }

  /** A task that is planned and can be called off. */
  interface Cancellable {
    /** Nothing is planned. */
    Cancellable NOTHING = () -> {};

    void cancel();
  }
}
