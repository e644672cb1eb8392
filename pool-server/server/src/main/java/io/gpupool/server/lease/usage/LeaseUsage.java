// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.wire.ScheduleSlot;
import java.util.List;

/**
 * The usage of a lease at one moment, with which the server's next process goes on.
 *
 * @param ledger the file of its ledger
 * @param schedule the file of the GPUs' schedules
 * @param leaseSlots of one of its sessions, in the schedules of leases
 * @param programSlots of the same session, in the schedules of the lease's programs
 * @param granted what its shares of the GPUs' time had come to
 */
public record LeaseUsage(
    MemoryFile ledger,
    MemoryFile schedule,
    List<ScheduleSlot> leaseSlots,
    List<ScheduleSlot> programSlots,
    Granted granted) {
  public LeaseUsage {
    leaseSlots = List.copyOf(leaseSlots);
    programSlots = List.copyOf(programSlots);
  }

  /**
   * The GPU time that a lease had been granted.
   *
   * @param atMillis the moment, since 1970
   * @param ageMillis how long the server had had the lease by then
   * @param nanos by GPU
   */
  public record Granted(long atMillis, long ageMillis, List<Long> nanos) {
    public Granted {
      nanos = List.copyOf(nanos);
    }
  }

  /** Returns whether a session has all the same slots and files here. */
  public boolean isOf(LeaseUsage other) {
    return ledger.equals(other.ledger)
        && schedule.equals(other.schedule)
        && leaseSlots.equals(other.leaseSlots)
        && programSlots.equals(other.programSlots);
  }
}
