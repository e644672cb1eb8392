// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import io.gpupool.soft.CudaStatus;

/** A task of the host in a stream's order, such as a call to a function of the program. */
@FunctionalInterface
public interface HostTask {
  /**
   * Begins it; must not wait.
   *
   * @param status SUCCESS, or the context's fault
   * @param done to be run once when it is over, by any thread; the stream waits for that
   */
  void start(CudaStatus status, Runnable done);
}
