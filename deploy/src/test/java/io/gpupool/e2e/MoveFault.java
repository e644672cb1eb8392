// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

/** The kinds of faults that befall a move of a lease, and whether its program may end by them. */
enum MoveFault {
  /** The worker dies that has the session when the move begins. */
  SOURCE_WORKER_KILLED(true),

  /** The worker dies that restores the session, before or after the lease has moved. */
  TARGET_WORKER_KILLED(true),

  /** The server dies from which the lease moves, and starts again at once. */
  SOURCE_SERVER_KILLED(false),

  /** The same, and it starts again when etcd has given it up. */
  SOURCE_SERVER_GONE(false),

  /** The server dies to which the lease moves, and starts again at once. */
  TARGET_SERVER_KILLED(false),

  /** The same, and it starts again when etcd has given it up. */
  TARGET_SERVER_GONE(false),

  /** The server stands still for some seconds from which the lease moves. */
  SOURCE_SERVER_STOPPED(false),

  /** The server stands still for some seconds to which the lease moves. */
  TARGET_SERVER_STOPPED(false),

  /** The program's connections to its server are reset. */
  PROGRAM_RESET(false),

  /** Connections to the target are reset: those of the workers, and of a program that is there. */
  TARGET_RESET(false),

  /** The member of etcd that leads dies, and starts again. */
  ETCD_LEADER_KILLED(false),

  /** The agent dies, and another one starts. */
  AGENT_KILLED(false),

  /** The program dies. */
  PROGRAM_KILLED(true),

  /** The lease is released. */
  LEASE_RELEASED(true);

  private final boolean mayEndProgram;

  MoveFault(boolean mayEndProgram) {
    this.mayEndProgram = mayEndProgram;
  }

  /**
   * Returns whether the program may end by it, with an error that names a reason.
   *
   * @param hasMoved whether its lease has moved nevertheless
   */
  boolean mayEndProgram(boolean hasMoved) {
    return mayEndProgram && (hasMoved || this != TARGET_WORKER_KILLED);
  }
}
