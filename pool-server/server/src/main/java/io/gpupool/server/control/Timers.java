// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

/** Time as the control thread sees it; a test puts its own clock here. */
public interface Timers {
  long nowNanos();

  /** The time of day: milliseconds since 1970. */
  long wallMillis();

  /** Runs {@code task} on the control thread after a delay. */
  Cancellable after(long delayMillis, Runnable task);

  /** Something that can be called off. */
  interface Cancellable {
    void cancel();
  }
}
