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
  enum Hold {
    /** No other lease wants the GPU, and this one may have all of its time. */
    ALONE,
    /** It is this lease's turn. */
    SHARED,
    /** The turn is over, or lost: what is under way is to be awaited, then {@link #pass}. */
    OVER
  }

  /** Says that work is under way, and asks whether more may be submitted. */
  Hold hold(long nowNanos);

  /** Nothing is under way any more; before {@link #end} or {@link #pass}. */
  void finished();

  /** Adds time that the GPU took for this process's work, as the driver measured it. */
  void used(long nanos);

  /** See {@link #UNSHARED}. */
  final class Unshared extends DeviceTime.Unshared implements DriverTime {
    private Unshared() {}

    @Override
    public Hold hold(long nowNanos) {
      return Hold.ALONE;
    }

    @Override
    public void finished() {}

    @Override
    public void used(long nanos) {}
  }
}
