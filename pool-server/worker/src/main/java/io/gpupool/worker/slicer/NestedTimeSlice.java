// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

/**
 * A lease's time slice of a GPU and, within it, the session's among the programs of the lease.
 * While no other lease wants the GPU, programs use it side by side. Only {@link SessionTimeSlice}
 * methods that read may be called by several threads at once.
 */
public final class NestedTimeSlice implements SessionTimeSlice {
  /*
   * A card slices its time among the processes that have work. The timing events of each then measure
   * the others' work as well, and each switch takes time that nobody's events tell apart. So one
   * program at a time has work under way while the time is charged.
   *
   * The program's time slice comes first, and lasts while the lease waits for its own: programs change
   * between time slices of the lease rather than within them, which costs nothing more.
   */
  private final GpuTimeSlice lease;
  private final GpuTimeSlice program;
  private volatile boolean hasProgramSlice;

  /**
   * Makes it of a time slice among the leases of a GPU, and one among the programs of the lease.
   */
  public NestedTimeSlice(GpuTimeSlice lease, GpuTimeSlice program) {
    this.lease = lease;
    this.program = program;
  }

  @Override
  public long begin(Use use, long nowNanos) {
    if (!hasProgramSlice && lease.isContended(nowNanos)) {
      if (program.begin(use, nowNanos) == NOT_NOW) {
        return NOT_NOW;
      }
      hasProgramSlice = true;
    }
    return lease.begin(use, System.nanoTime());
  }

  @Override
  public void end(long nowNanos) {
    leaveProgram(nowNanos);
    lease.end(nowNanos);
  }

  private void leaveProgram(long nowNanos) {
    if (hasProgramSlice) {
      hasProgramSlice = false;
      program.workFinished();
      program.end(nowNanos);
    }
  }

  @Override
  public boolean isOver() {
    return lease.isOver() || !hasProgramSlice || program.isOver();
  }

  @Override
  public SliceState renew(long nowNanos) {
    SliceState sliceState = lease.renew(nowNanos);
    if (sliceState == SliceState.UNCONTENDED) {
      leaveProgram(nowNanos);
    } else if (sliceState == SliceState.CONTENDED
        && (!hasProgramSlice || program.renew(nowNanos) == SliceState.ENDED)) {
      return SliceState.ENDED;
    }
    return sliceState;
  }

  @Override
  public long pass(Use use) {
    long since = System.nanoTime();
    if (hasProgramSlice) {
      long ignored = program.pass(use);
    } else {
      long now = since;
      while (program.begin(use, now) == NOT_NOW) {
        now = System.nanoTime();
      }
      hasProgramSlice = true;
    }
    long ignored = lease.pass(use);
    return System.nanoTime() - since;
  }

  @Override
  public void workFinished() {
    lease.workFinished();
    if (hasProgramSlice) {
      program.workFinished();
    }
  }

  @Override
  public void addMeasured(long nanos) {
    lease.addMeasured(nanos);
    if (hasProgramSlice) {
      program.addMeasured(nanos);
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
