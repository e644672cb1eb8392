// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.lease.TimeTable.Use;
import io.gpupool.server.placement.Placement.Part;

/** A lease's entries in the {@link TimeTable} for one of its GPUs. Owned by the control thread. */
interface LeaseTurns {
  /** Where the session of a slot takes its turns. */
  TurnPlace place(int slot);

  /** Makes room for a session. */
  void enterSession(int slot);

  /** Removes a session. Its worker is dead. */
  void leaveSession(int slot);

  /** Changes share and class. */
  void change(Part part, LeaseClass leaseClass, long nowNanos);

  /** Puts back what a worker may have overwritten. */
  void restore();

  /** GPU time of the lease since it was entered. */
  Use use();

  /** The GPU time that a session is charged for while it has the GPU. */
  long charge(long heldNanos);

  /** GPU time that the lease has had beyond its share. */
  long debtNanos(long nowNanos);

  /** Removes the lease. Its sessions have left. */
  void close();
}
