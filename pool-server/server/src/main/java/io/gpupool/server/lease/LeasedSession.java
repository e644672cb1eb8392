// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

/** A session as its lease knows it. Owned by the control thread. */
public interface LeasedSession {
  /** Its slot in the lease's ledger and turns, below {@link Lease#MAX_SESSIONS}. */
  int slot();

  /** How many calls its program has made. */
  long calls();

  /** Whether its program waits for work that it gave the GPU. */
  boolean isWaiting();

  /** Ends it; {@link Leases#sessionGone} follows when its worker is dead. */
  void end(String reason);
}
