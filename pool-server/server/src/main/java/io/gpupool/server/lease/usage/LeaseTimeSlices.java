// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.lease.usage.GpuScheduleTable.Use;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.wire.ScheduleSlot;
import java.util.Optional;

/**
 * The time slices that a lease takes on one GPU, and its programs within them. Owned by the control
 * thread.
 */
final class LeaseTimeSlices implements AutoCloseable {
  private final GpuScheduleTable table;
  private final Part part;
  private final Optional<Integer> number;
  private final Optional<ProgramTimeSlices> programs;

  /**
   * Makes them.
   *
   * @param number of the lease on the GPU's page; empty where leases take no time slices
   * @param programs the time slices of its programs; empty where they take none
   */
  LeaseTimeSlices(
      GpuScheduleTable table,
      Part part,
      Optional<Integer> number,
      Optional<ProgramTimeSlices> programs) {
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
    return number.map(lease -> new ScheduleSlot(gpu(), lease, slot));
  }

  /**
   * Returns the slot of a session in the schedule of the lease's programs, if these take time
   * slices.
   */
  Optional<ScheduleSlot> programSlot(int slot) {
    return programs.map(slices -> slices.place(slot));
  }

  void enterSession(int slot) {
    number.ifPresent(lease -> table.enterSession(gpu(), lease, slot));
    programs.ifPresent(slices -> slices.enterSession(slot));
  }

  /** Removes a session. Its worker is dead. */
  void leaveSession(int slot) {
    number.ifPresent(lease -> table.leaveSession(gpu(), lease, slot));
    programs.ifPresent(slices -> slices.leaveSession(slot));
  }

  /** Changes share and class, which only matter where leases take time slices. */
  void change(Part other, LeaseClass leaseClass, long nowNanos) {
    int weight = other.share().computeBasisPoints();
    number.ifPresent(
        lease -> table.change(gpu(), lease, weight, other.hard(), leaseClass, nowNanos));
  }

  /** Puts back what a worker may have overwritten. */
  void restore() {
    number.ifPresent(lease -> table.restore(gpu(), lease));
    programs.ifPresent(ProgramTimeSlices::restore);
  }

  /** GPU time of the lease since it was entered. */
  Use use() {
    if (number.isPresent()) {
      return table.use(gpu(), number.get());
    }
    Use held = programs.map(ProgramTimeSlices::use).orElse(Use.NONE);
    return new Use(charge(held.usedNanos()), held.waitedNanos(), held.throttledNanos());
  }

  /**
   * The GPU time that a session is charged for while it has the GPU: its part where leases use the
   * GPU at the same time.
   */
  long charge(long heldNanos) {
    return number.isPresent() ? heldNanos : part.share().nanosOf(heldNanos);
  }

  /** GPU time that the lease has had beyond its share. */
  long debtNanos(long nowNanos) {
    return number.map(lease -> table.debtNanos(gpu(), lease, nowNanos)).orElse(0L);
  }

  /** Removes the lease. Its sessions have left. */
  @Override
  public void close() {
    number.ifPresent(lease -> table.leave(gpu(), lease));
    programs.ifPresent(ProgramTimeSlices::close);
  }
}
