// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.soft.exec.launch.DeviceTime;

/**
 * A GPU's time as far as it is this process's, for a driver: work that was submitted to it cannot
 * be stopped, so that the GPU is another's only once that work is done. Any thread may call it.
 */
public interface DriverTime extends DeviceTime {
  /** Time of a GPU that nobody shares out. */
  DriverTime UNSHARED = new Unshared();

  /** States of a time slice for the submission of work. */
  enum SliceState {
    /** No other lease wants the GPU, and this one may have all of its time. */
    UNCONTENDED,
    /** This lease has the time slice, and others want the GPU. */
    CONTENDED,
    /** The time slice is over, or lost: what is under way is to be awaited, then {@link #pass}. */
    ENDED
  }

  /** Marks work as under way, and returns whether more may be submitted. */
  SliceState renew(long nowNanos);

  /** Marks that nothing is under way any more; comes before {@link #end} or {@link #pass}. */
  void workFinished();

  /** Adds time that the GPU took for this process's work, as the driver measured it. */
  void addMeasured(long nanos);

  /** See {@link #UNSHARED}. */
  final class Unshared extends DeviceTime.Unshared implements DriverTime {
    private Unshared() {}

    @Override
    public SliceState renew(long nowNanos) {
      return SliceState.UNCONTENDED;
    }

    @Override
    public void workFinished() {}

    @Override
    public void addMeasured(long nanos) {}
  }
}
