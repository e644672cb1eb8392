// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import java.time.Duration;
import java.time.Instant;

/** Time as the controller sees it; a test puts its own clock here. */
interface Timers {
  long nowNanos();

  /** The time of day. */
  Instant now();

  /** Runs a task on the controller's thread after a delay. */
  Cancellable after(Duration delay, Runnable task);

  /** Something that can be called off. */
  interface Cancellable {
    Cancellable NOTHING = () -> {};

    void cancel();
  }
}
