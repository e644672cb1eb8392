// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

/** A session as its lease knows it. Owned by the control thread. */
public interface LeasedSession {
  /**
   * Its slot in the lease's ledger and time slices, below the number of sessions that a lease can
   * have.
   */
  int slot();

  /** How many calls its program has made. */
  long calls();

  /** Whether its program waits for work that it gave the GPU. */
  boolean isWaiting();

  /** Ends it; the lease is told when its worker is dead. */
  void end(String reason);
}
