// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.awaitility.core.ThrowingRunnable;

/** What a cluster comes to by itself. */
final class Later {
  private Later() {}

  /** Waits for a minute at most. */
  static void is(ThrowingRunnable assertions) {
    within(Duration.ofSeconds(60), assertions);
  }

  static void within(Duration time, ThrowingRunnable assertions) {
    await()
        .atMost(time)
        .pollInterval(Duration.ofMillis(300))
        .pollInSameThread()
        .untilAsserted(assertions);
  }
}
