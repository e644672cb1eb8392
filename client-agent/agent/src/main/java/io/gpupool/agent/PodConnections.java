// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts the connections of each pod, so that none takes the places of all others. Runs on the
 * agent's event loop.
 */
final class PodConnections {
  static final int MOST = 1024;

  private final Map<String, Integer> counts = new HashMap<>();

  /**
   * Lets one more in.
   *
   * @throws Refusal if the pod has too many
   */
  void enter(String pod) {
    if (counts.getOrDefault(pod, 0) >= MOST) {
      throw new Refusal(
          Refusal.Cause.REFUSED,
          "the programs of this pod have " + MOST + " connections to the node's agent already");
    }
    counts.merge(pod, 1, Integer::sum);
  }

  /** One that was let in is gone. */
  void leave(String pod) {
    counts.computeIfPresent(pod, (key, count) -> count > 1 ? count - 1 : null);
  }
}
