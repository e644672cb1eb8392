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

  /** The most connections of all programs together. */
  public static final int MOST_OF_ALL = 4096;

  /** The number from which only owners with fewer than {@link #FEW} are let in. */
  static final int MANY = MOST_OF_ALL / 4 * 3;

  static final int FEW = 64;

  /**
   * The most refused connections: a refused program hears why once it asks, and takes a place until
   * then.
   */
  static final int MOST_REFUSED = 64;

  /** The owner of refused connections; no pod or user has this name. */
  static final String REFUSED = "";

  private final Map<String, Integer> counts = new HashMap<>();
  private final String own;
  private final String together;
  private int all;

  private ConnectionShares(String own, String together) {
    this.own = own;
    this.together = together;
  }

  /** Returns shares by the uid of the pod, for a node of Kubernetes. */
  public static ConnectionShares ofPods() {
    return new ConnectionShares(
        "the programs of this pod have %d connections to the node's agent already",
        "all pods of the node %d");
  }

  /** Returns shares by the id of the user, for any other machine. */
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

  /** Lets in one more connection that will be refused; false: there are too many. */
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
