// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.TimeTable.Use;
import io.gpupool.server.placement.Placement.Part;
import java.io.IOException;
import java.util.BitSet;

/**
 * Turns of the programs of one lease on a GPU that leases use at the same time through MPS: one
 * page a lease, one entry a session. MPS limits each program to the lease's part of the
 * multiprocessors; the turns keep the programs together to that part. A second of such a turn
 * counts as the part of a second of GPU time.
 */
final class MpsTurns implements LeaseTurns {
  private final TimeTable table;
  private final int page;
  private final Share share;
  private final BitSet slots = new BitSet();
  private Use left = Use.NONE;

  /**
   * Enters a lease.
   *
   * @throws IOException if the GPU has as many leases as there can be
   */
  MpsTurns(TimeTable table, Part part) throws IOException {
    this.table = table;
    share = part.share();
    page = table.takePage(part.gpu().ordinal());
  }

  @Override
  public TurnPlace place(int slot) {
    return new TurnPlace(page, slot, 0);
  }

  @Override
  public void enterSession(int slot) {
    table.enter(page, slot, Share.WHOLE_COMPUTE, false, LeaseClass.BATCH);
    table.enterSession(page, slot, 0);
    slots.set(slot);
  }

  @Override
  public void leaveSession(int slot) {
    left = left.plus(table.use(page, slot));
    slots.clear(slot);
    table.leaveSession(page, slot, 0);
    table.leave(page, slot);
  }

  /** Does nothing: programs keep the part of the multiprocessors with which they started. */
  @Override
  public void change(Part part, LeaseClass leaseClass, long nowNanos) {}

  @Override
  public void restore() {
    slots.stream().forEach(slot -> table.restore(page, slot));
  }

  @Override
  public Use use() {
    Use all = left;
    for (int slot : slots.stream().toArray()) {
      all = all.plus(table.use(page, slot));
    }
    return new Use(charge(all.usedNanos()), all.waitedNanos(), all.throttledNanos());
  }

  @Override
  public long charge(long heldNanos) {
    return share.nanosOf(heldNanos);
  }

  /** None: MPS grants no more than the part. */
  @Override
  public long debtNanos(long nowNanos) {
    return 0;
  }

  @Override
  public void close() {
    table.givePage(page);
  }
}
