// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

/** The state of a lease as one server sees it. */
public sealed interface LeaseState {
  /** The phase of a state: the state without its data. */
  enum Phase {
    HELD,
    RETURNING,
    GRACE,
    ENDING,
    MOVED,
    GONE
  }

  Phase phase();

  /** Returns whether the lease goes on, so that it can be held, used and released. */
  default boolean isAlive() {
    return switch (phase()) {
      case HELD, RETURNING, GRACE -> true;
      case ENDING, MOVED, GONE -> false;
    };
  }

  /** The holder is connected to a server of the pool. */
  record Held() implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.HELD;
    }
  }

  /**
   * The holder has left this server and need not be connected to any; the lease's home server,
   * which gives it its grace period, has not been told yet.
   */
  record Returning() implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.RETURNING;
    }
  }

  /** The holder is gone and has a grace period to come back. */
  record Grace(GraceReason reason) implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.GRACE;
    }
  }

  /** The lease has ended; its GPUs are free once its workers are dead. */
  record Ending(String reason) implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.ENDING;
    }
  }

  /** The lease goes on with another GPU; what it had here is free once its workers are dead. */
  record Moved() implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.MOVED;
    }
  }

  /** This server has nothing of the lease any more. */
  record Gone() implements LeaseState {
    @Override
    public Phase phase() {
      return Phase.GONE;
    }
  }
}
