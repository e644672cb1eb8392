// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.client.connection.PoolRequestException;
import java.util.HashMap;
import java.util.Map;

/**
 * The connections of each pod or user, counted so that none, nor a few together, take the places of
 * all others. Runs on the agent's event loop.
 */
public final class ConnectionShares {
  static final int MOST = 1024;

  /** Of all programs together. */
  public static final int MOST_OF_ALL = 4096;

  /** Of all together; from there on only those that have less than {@link #FEW} are let in. */
  static final int MANY = MOST_OF_ALL / 4 * 3;

  static final int FEW = 64;

  /**
   * Of all together: who is refused is told why once it has asked, and takes a place until then.
   */
  static final int MOST_REFUSED = 64;

  /** Under which those are counted that are refused; no pod or user is called so. */
  static final String REFUSED = "";

  private final Map<String, Integer> counts = new HashMap<>();
  private final String own;
  private final String together;
  private int all;

  private ConnectionShares(String own, String together) {
    this.own = own;
    this.together = together;
  }

  /** On a node of Kubernetes, by the uid of the pod. */
  public static ConnectionShares ofPods() {
    return new ConnectionShares(
        "the programs of this pod have %d connections to the node's agent already",
        "all pods of the node %d");
  }

  /** On any other machine, by the id of the user. */
  static ConnectionShares ofUsers() {
    return new ConnectionShares(
        "the programs of this user have %d connections to the agent already", "all users %d");
  }

  /**
   * Lets one more in.
   *
   * @throws PoolRequestException if the pod or user has too many
   */
  void enter(String member) {
    int count = counts.getOrDefault(member, 0);
    if (count >= MOST || (all >= MANY && count >= FEW)) {
      throw new PoolRequestException(
          PoolRequestException.Cause.REFUSED,
          own.formatted(count) + ", and " + together.formatted(all));
    }
    add(member);
  }

  private void add(String member) {
    counts.merge(member, 1, Integer::sum);
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
  void leave(String member) {
    counts.computeIfPresent(member, (key, count) -> count > 1 ? count - 1 : null);
    all--;
  }
}
