// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.usage.GpuScheduleTable.Use;
import io.gpupool.wire.ScheduleSlot;
import java.io.IOException;
import java.util.BitSet;
import java.util.Set;

/**
 * The time slices of one GPU among the programs of a lease: a page of the {@link GpuScheduleTable}
 * with an entry for each session, all of equal weight. Owned by the control thread.
 */
final class ProgramTimeSlices implements AutoCloseable {
  private final GpuScheduleTable table;
  private final int page;
  private final BitSet slots = new BitSet();
  private Use left = Use.NONE;

  /**
   * Takes the page.
   *
   * @throws IOException if the GPU has as many leases as there can be
   */
  ProgramTimeSlices(GpuScheduleTable table, int gpu) throws IOException {
    this.table = table;
    page = table.takePage(gpu);
  }

  /** Goes on with a page that is taken, and with the sessions in it. */
  ProgramTimeSlices(GpuScheduleTable table, int page, Set<Integer> sessions) {
    this.table = table;
    this.page = page;
    for (int slot : sessions) {
      table.enterProgramAgain(page, slot);
      slots.set(slot);
    }
  }

  ScheduleSlot place(int slot) {
    return new ScheduleSlot(page, slot, 0);
  }

  void enterSession(int slot) {
    table.enter(page, slot, Share.WHOLE_COMPUTE, false, LeaseClass.BATCH);
    table.enterSession(page, slot, 0);
    slots.set(slot);
  }

  /** Removes a session. Its worker is dead. */
  void leaveSession(int slot) {
    left = left.plus(table.use(page, slot));
    slots.clear(slot);
    table.leaveSession(page, slot, 0);
    table.leave(page, slot);
  }

  /** Puts back what a worker may have overwritten. */
  void restore() {
    slots.stream().forEach(slot -> table.restore(page, slot));
  }

  /** The use by all sessions, also by those that have left. */
  Use use() {
    Use all = left;
    for (int slot : slots.stream().toArray()) {
      all = all.plus(table.use(page, slot));
    }
    return all;
  }

  @Override
  public void close() {
    table.givePage(page);
  }
}
