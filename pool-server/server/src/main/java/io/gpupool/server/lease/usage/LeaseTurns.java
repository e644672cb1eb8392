// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.lease.usage.TimeTable.Use;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.wire.TurnPlace;
import java.util.Optional;

/**
 * The turns that a lease takes on one GPU, and its programs within them. Owned by the control
 * thread.
 */
final class LeaseTurns implements AutoCloseable {
  private final TimeTable table;
  private final Part part;
  private final Optional<Integer> number;
  private final Optional<ProgramTurns> programs;

  /**
   * Makes them.
   *
   * @param number of the lease on the GPU's page; empty where leases take no turns
   * @param programs the turns of its programs; empty where they take none
   */
  LeaseTurns(
      TimeTable table, Part part, Optional<Integer> number, Optional<ProgramTurns> programs) {
    this.table = table;
    this.part = part;
    this.number = number;
    this.programs = programs;
  }

  private int gpu() {
    return part.gpu().ordinal();
  }

  /** Where the session of a slot takes its lease's turns, if leases take turns. */
  Optional<TurnPlace> leasePlace(int slot) {
    return number.map(lease -> new TurnPlace(gpu(), lease, slot));
  }

  /** Where the session of a slot takes its turns among the lease's programs, if these take any. */
  Optional<TurnPlace> programPlace(int slot) {
    return programs.map(turns -> turns.place(slot));
  }

  void enterSession(int slot) {
    number.ifPresent(lease -> table.enterSession(gpu(), lease, slot));
    programs.ifPresent(turns -> turns.enterSession(slot));
  }

  /** Removes a session. Its worker is dead. */
  void leaveSession(int slot) {
    number.ifPresent(lease -> table.leaveSession(gpu(), lease, slot));
    programs.ifPresent(turns -> turns.leaveSession(slot));
  }

  /** Changes share and class, which only matter where leases take turns. */
  void change(Part other, LeaseClass leaseClass, long nowNanos) {
    int weight = other.share().computeBasisPoints();
    number.ifPresent(
        lease -> table.change(gpu(), lease, weight, other.hard(), leaseClass, nowNanos));
  }

  /** Puts back what a worker may have overwritten. */
  void restore() {
    number.ifPresent(lease -> table.restore(gpu(), lease));
    programs.ifPresent(ProgramTurns::restore);
  }

  /** GPU time of the lease since it was entered. */
  Use use() {
    if (number.isPresent()) {
      return table.use(gpu(), number.get());
    }
    Use held = programs.map(ProgramTurns::use).orElse(Use.NONE);
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
    programs.ifPresent(ProgramTurns::close);
  }
}
