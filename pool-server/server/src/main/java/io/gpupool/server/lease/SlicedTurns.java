// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.lease.TimeTable.Use;
import io.gpupool.server.placement.Placement.Part;
import java.io.IOException;

/** Turns of a GPU whose time is sliced among its leases: one page a GPU, one entry a lease. */
final class SlicedTurns implements LeaseTurns {
  private final TimeTable table;
  private final int gpu;
  private final int number;

  /**
   * Enters a lease.
   *
   * @throws IOException if the GPU has as many leases as there can be
   */
  SlicedTurns(TimeTable table, Part part, LeaseClass leaseClass) throws IOException {
    this.table = table;
    gpu = part.gpu().ordinal();
    number = table.enter(gpu, part.share().computeBasisPoints(), part.hard(), leaseClass);
  }

  @Override
  public TurnPlace place(int slot) {
    return new TurnPlace(gpu, number, slot);
  }

  @Override
  public void enterSession(int slot) {
    table.enterSession(gpu, number, slot);
  }

  @Override
  public void leaveSession(int slot) {
    table.leaveSession(gpu, number, slot);
  }

  @Override
  public void change(Part part, LeaseClass leaseClass, long nowNanos) {
    int weight = part.share().computeBasisPoints();
    table.change(gpu, number, weight, part.hard(), leaseClass, nowNanos);
  }

  @Override
  public void restore() {
    table.restore(gpu, number);
  }

  @Override
  public Use use() {
    return table.use(gpu, number);
  }

  @Override
  public long charge(long heldNanos) {
    return heldNanos;
  }

  @Override
  public long debtNanos(long nowNanos) {
    return table.debtNanos(gpu, number, nowNanos);
  }

  @Override
  public void close() {
    table.leave(gpu, number);
  }
}
