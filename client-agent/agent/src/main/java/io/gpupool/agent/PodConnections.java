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

  /** Of all pods: who is refused is told why once it has asked, and takes a place until then. */
  static final int MOST_REFUSED = 64;

  /** Under which those are counted that are refused; no pod is called so. */
  static final String REFUSED = "";

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

  /** Lets one more in that is to be refused; false: there are too many. */
  boolean enterRefused() {
    return counts.getOrDefault(REFUSED, 0) < MOST_REFUSED
        && counts.merge(REFUSED, 1, Integer::sum) > 0;
  }

  /** One that was let in is gone. */
  void leave(String pod) {
    counts.computeIfPresent(pod, (key, count) -> count > 1 ? count - 1 : null);
  }
}
