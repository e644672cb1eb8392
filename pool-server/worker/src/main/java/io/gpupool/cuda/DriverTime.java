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

  /** How long work may still be submitted. */
  enum SliceState {
    /** No other lease wants the GPU, and this one may have all of its time. */
    UNCONTENDED,
    /** It is this lease's time slice. */
    CONTENDED,
    /** The time slice is over, or lost: what is under way is to be awaited, then {@link #pass}. */
    ENDED
  }

  /** Says that work is under way, and asks whether more may be submitted. */
  SliceState renew(long nowNanos);

  /** Nothing is under way any more; before {@link #end} or {@link #pass}. */
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
