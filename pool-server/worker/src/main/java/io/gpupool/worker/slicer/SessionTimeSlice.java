// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.cuda.DriverTime;

/** A session's time of one GPU. Any thread may call it. Times are in nanoseconds. */
public interface SessionTimeSlice extends DriverTime {
  /** Returns the time in which this session had the GPU and used it. */
  long usedNanos();

  /** Returns the time in which it had work and waited for its time slice. */
  long waitedNanos();

  /**
   * Returns the part of the waiting in which the GPU was free, and only the lease's own limit kept
   * it away.
   */
  long throttledNanos();
}
