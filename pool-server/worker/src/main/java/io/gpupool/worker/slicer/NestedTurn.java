// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * A lease's turn of a GPU and, within it, the session's among the programs of the lease. While no
 * other lease wants the GPU, programs use it side by side. Only {@link SessionTurn} methods that
 * read may be called by several threads at once.
 */
public final class NestedTurn implements SessionTurn {
  /*
   * A card slices its time among the processes that have work. The timing events of each then measure
   * the others' work as well, and each switch takes time that nobody's events tell apart. So one
   * program at a time has work under way while the time is charged.
   *
   * The program's turn comes first, and lasts while the lease waits for its own: programs change
   * between turns of the lease rather than within them, which costs nothing more.
   */
  private final GpuTurn lease;
  private final GpuTurn program;
  private volatile boolean hasProgramTurn;

  /** Makes it of a turn among the leases of a GPU, and one among the programs of the lease. */
  public NestedTurn(GpuTurn lease, GpuTurn program) {
    this.lease = lease;
    this.program = program;
  }

  @Override
  public long begin(Use use, long nowNanos) {
    if (!hasProgramTurn && lease.isContended(nowNanos)) {
      if (program.begin(use, nowNanos) == NOT_NOW) {
        return NOT_NOW;
      }
      hasProgramTurn = true;
    }
    return lease.begin(use, System.nanoTime());
  }

  @Override
  public void end(long nowNanos) {
    leaveProgram(nowNanos);
    lease.end(nowNanos);
  }

  private void leaveProgram(long nowNanos) {
    if (hasProgramTurn) {
      hasProgramTurn = false;
      program.finished();
      program.end(nowNanos);
    }
  }

  @Override
  public boolean isOver() {
    return lease.isOver() || !hasProgramTurn || program.isOver();
  }

  @Override
  public Hold hold(long nowNanos) {
    Hold hold = lease.hold(nowNanos);
    if (hold == Hold.ALONE) {
      leaveProgram(nowNanos);
    } else if (hold == Hold.SHARED && (!hasProgramTurn || program.hold(nowNanos) == Hold.OVER)) {
      return Hold.OVER;
    }
    return hold;
  }

  @Override
  public long pass(Use use) {
    long since = System.nanoTime();
    if (hasProgramTurn) {
      long ignored = program.pass(use);
    } else {
      long now = since;
      while (program.begin(use, now) == NOT_NOW) {
        now = System.nanoTime();
      }
      hasProgramTurn = true;
    }
    long ignored = lease.pass(use);
    return System.nanoTime() - since;
  }

  @Override
  public void finished() {
    lease.finished();
    if (hasProgramTurn) {
      program.finished();
    }
  }

  @Override
  public void used(long nanos) {
    lease.used(nanos);
    if (hasProgramTurn) {
      program.used(nanos);
    }
  }

  @Override
  public long usedNanos() {
    return lease.usedNanos();
  }

  @Override
  public long waitedNanos() {
    return lease.waitedNanos() + program.waitedNanos();
  }

  @Override
  public long throttledNanos() {
    return lease.throttledNanos();
  }
}
