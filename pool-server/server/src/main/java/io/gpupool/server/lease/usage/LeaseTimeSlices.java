// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.lease.usage.GpuScheduleTable.Use;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.wire.ScheduleSlot;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The time slices that a lease takes on one GPU, and its programs within them. Owned by the control
 * thread.
 */
final class LeaseTimeSlices implements AutoCloseable {
  private final GpuScheduleTable table;
  private final Part part;
  private final @Nullable Integer number;
  private final @Nullable ProgramTimeSlices programs;

  /**
   * Makes them.
   *
   * @param number of the lease on the GPU's page; null where leases take no time slices
   * @param programs the time slices of its programs; null where they take none
   */
  LeaseTimeSlices(
      GpuScheduleTable table,
      Part part,
      @Nullable Integer number,
      @Nullable ProgramTimeSlices programs) {
    this.table = table;
    this.part = part;
    this.number = number;
    this.programs = programs;
  }

  private int gpu() {
    return part.gpu().ordinal();
  }

  /** Returns the slot of a session in the schedule of leases, if leases take time slices. */
  Optional<ScheduleSlot> leaseSlot(int slot) {
    return Optional.ofNullable(number).map(lease -> new ScheduleSlot(gpu(), lease, slot));
  }

  /**
   * Returns the slot of a session in the schedule of the lease's programs, if these take time
   * slices.
   */
  Optional<ScheduleSlot> programSlot(int slot) {
    return Optional.ofNullable(programs).map(slices -> slices.place(slot));
  }

  void enterSession(int slot) {
    if (number != null) {
      table.enterSession(gpu(), number, slot);
    }
    if (programs != null) {
      programs.enterSession(slot);
    }
  }

  /** Removes a session. Its worker is dead. */
  void leaveSession(int slot) {
    if (number != null) {
      table.leaveSession(gpu(), number, slot);
    }
    if (programs != null) {
      programs.leaveSession(slot);
    }
  }

  /** Changes share and class, which only matter where leases take time slices. */
  void change(Part other, LeaseClass leaseClass, long nowNanos) {
    int weight = other.share().computeBasisPoints();
    if (number != null) {
      table.change(gpu(), number, weight, other.hard(), leaseClass, nowNanos);
    }
  }

  /** Puts back what a worker may have overwritten. */
  void restore() {
    if (number != null) {
      table.restore(gpu(), number);
    }
    if (programs != null) {
      programs.restore();
    }
  }

  /** GPU time of the lease since it was entered. */
  Use use() {
    if (number != null) {
      return table.use(gpu(), number);
    }
    Use held = Optional.ofNullable(programs).map(ProgramTimeSlices::use).orElse(Use.NONE);
    return new Use(charge(held.usedNanos()), held.waitedNanos(), held.throttledNanos());
  }

  /**
   * The GPU time that a session is charged for while it has the GPU: its part where leases use the
   * GPU at the same time.
   */
  long charge(long heldNanos) {
    return number != null ? heldNanos : part.share().nanosOf(heldNanos);
  }

  /** GPU time that the lease has had beyond its share. */
  long debtNanos(long nowNanos) {
    return Optional.ofNullable(number)
        .map(lease -> table.debtNanos(gpu(), lease, nowNanos))
        .orElse(0L);
  }

  /** Removes the lease. Its sessions have left. */
  @Override
  public void close() {
    if (number != null) {
      table.leave(gpu(), number);
    }
    if (programs != null) {
      programs.close();
    }
  }
}
