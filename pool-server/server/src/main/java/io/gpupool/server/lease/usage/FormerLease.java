// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.wire.ScheduleSlot;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A lease as the server's former process has left it: what it used, and the slots of the sessions
 * that go on. Owned by the thread that starts the server.
 */
public final class FormerLease {
  private final LeaseUsage usage;
  private final Set<Integer> slots = new TreeSet<>();
  private @Nullable SharedMemory ledger;

  FormerLease(LeaseUsage usage, SharedMemory ledger) {
    this.usage = usage;
    this.ledger = ledger;
  }

  LeaseUsage usage() {
    return usage;
  }

  /** The slots of the sessions that go on. */
  Set<Integer> slots() {
    return slots;
  }

  /** The slot of one of the sessions in the schedule of leases of a GPU; null: there is none. */
  @Nullable ScheduleSlot leaseSlot(int part) {
    return part < usage.leaseSlots().size() ? usage.leaseSlots().get(part) : null;
  }

  /** The same in the schedule of the lease's programs. */
  @Nullable ScheduleSlot programSlot(int part) {
    return part < usage.programSlots().size() ? usage.programSlots().get(part) : null;
  }

  /** Takes the ledger, which the caller must close; null: it has been taken. */
  @Nullable SharedMemory takeLedger() {
    SharedMemory taken = ledger;
    ledger = null;
    return taken;
  }
}
