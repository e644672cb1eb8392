// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts the connections of each pod, so that none, nor a few together, take the places of all
 * others. Runs on the agent's event loop.
 */
final class PodConnections {
  static final int MOST = 1024;

  /** Of all pods; from there on only pods that have less than {@link #FEW} are let in. */
  static final int MANY = Agent.MAX_PROGRAMS / 4 * 3;

  static final int FEW = 64;

  /** Of all pods: who is refused is told why once it has asked, and takes a place until then. */
  static final int MOST_REFUSED = 64;

  /** Under which those are counted that are refused; no pod is called so. */
  static final String REFUSED = "";

  private final Map<String, Integer> counts = new HashMap<>();
  private int all;

  /**
   * Lets one more in.
   *
   * @throws Refusal if the pod has too many
   */
  void enter(String pod) {
    int count = counts.getOrDefault(pod, 0);
    if (count >= MOST || (all >= MANY && count >= FEW)) {
      throw new Refusal(
          Refusal.Cause.REFUSED,
          "the programs of this pod have "
              + count
              + " connections to the node's agent already, and all pods of the node "
              + all);
    }
    add(pod);
  }

  private void add(String pod) {
    counts.merge(pod, 1, Integer::sum);
    all++;
  }

  /** Lets one more in that is to be refused; false: there are too many. */
  boolean enterRefused() {
    boolean isRoom = counts.getOrDefault(REFUSED, 0) < MOST_REFUSED;
    if (isRoom) {
      add(REFUSED);
    }
    return isRoom;
  }

  /** One that was let in is gone. */
  void leave(String pod) {
    counts.computeIfPresent(pod, (key, count) -> count > 1 ? count - 1 : null);
    all--;
  }
}
