// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.awaitility.core.ThrowingRunnable;

/** Conditions that a cluster reaches by itself. */
final class Later {
  /**
   * Pause between two looks; a look is often a command in a pod, with half a second of CPU time.
   */
  private static final Duration POLL = Duration.ofSeconds(1);

  private Later() {}

  /** Waits for a minute at most. */
  static void is(ThrowingRunnable assertions) {
    within(Duration.ofSeconds(60), assertions);
  }

  static void within(Duration time, ThrowingRunnable assertions) {
    await().atMost(time).pollInterval(POLL).pollInSameThread().untilAsserted(assertions);
  }
}
