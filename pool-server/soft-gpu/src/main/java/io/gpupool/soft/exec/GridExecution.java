// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.concurrent.CompletableFuture;

/** A grid that was started; may be watched and cancelled from any thread. */
public final class GridExecution {
  private final CompletableFuture<Void> completion = new CompletableFuture<>();

  GridExecution() {}

  /** Completes when the last block is done; fails with a {@link KernelFault}. */
  public CompletableFuture<Void> completion() {
    return completion;
  }

  /**
   * Stops the grid: blocks not yet started never start, running threads stop at their next loop
   * iteration or wait. {@link #completion()} fails with {@link KernelFault#LAUNCH_TIMEOUT}.
   */
  public void cancel() {
    completion.completeExceptionally(
        new KernelFault(KernelFault.LAUNCH_TIMEOUT, "the launch was cancelled"));
  }

  /** Thread time spent in this grid so far, summed over cores. */
  public long busyNanos() {
    return 0;
  }
}
