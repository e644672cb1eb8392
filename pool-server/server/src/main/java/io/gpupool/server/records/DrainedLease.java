// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.placement.LeaseId;
import org.jspecify.annotations.Nullable;

/**
 * A lease of a server whose drain moves leases to other servers.
 *
 * @param to the GPU to which it moves or has moved; null: none yet
 * @param pauseMillis time for which its slowest session stood still; 0: it has not moved
 * @param reason why it has not moved; empty: it was not tried, or nothing was in its way
 */
public record DrainedLease(
    LeaseId id, State state, @Nullable Place to, long pauseMillis, String reason) {
  /** The states of a lease that is to move. */
  public enum State {
    /** It waits for its turn, or for room. */
    WAITING,
    MOVING,
    MOVED,
    /** It cannot move, or time was up. */
    STAYS
  }

  /**
   * A GPU by its place.
   *
   * @param ordinal on its server
   */
  public record Place(String server, int ordinal) {}

  public static DrainedLease waiting(LeaseId id, String reason) {
    return new DrainedLease(id, State.WAITING, null, 0, reason);
  }

  public static DrainedLease moving(LeaseId id, Place to) {
    return new DrainedLease(id, State.MOVING, to, 0, "");
  }

  public static DrainedLease moved(LeaseId id, Place to, long pauseMillis) {
    return new DrainedLease(id, State.MOVED, to, pauseMillis, "");
  }

  public static DrainedLease stays(LeaseId id, String reason) {
    return new DrainedLease(id, State.STAYS, null, 0, reason);
  }

  /** Returns whether it may still move. */
  public boolean isPending() {
    return state == State.WAITING || state == State.MOVING;
  }
}
