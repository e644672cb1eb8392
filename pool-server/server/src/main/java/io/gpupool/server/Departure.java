// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/** The way in which a server ends: with its sessions, or leaving them to its next process. */
final class Departure {
  private volatile boolean leaves;

  /**
   * Begins as a server ends that nobody asks for more.
   *
   * @param leaves whether it leaves its sessions
   */
  Departure(boolean leaves) {
    this.leaves = leaves;
  }

  /** Returns whether the server leaves the sessions that its next process can take over. */
  boolean leaves() {
    return leaves;
  }

  /** Has the server end all of its sessions. */
  void endAll() {
    leaves = false;
  }
}
