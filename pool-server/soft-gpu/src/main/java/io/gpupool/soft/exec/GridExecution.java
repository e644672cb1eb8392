// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.launch.KernelFaultException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A grid that was started; may be watched and cancelled from any thread. */
public final class GridExecution {
  private final CompletableFuture<Void> completion = new CompletableFuture<>();
  private final AtomicBoolean finished = new AtomicBoolean();
  private final GridTask grid;

  GridExecution(GridTask grid) {
    this.grid = grid;
  }

  /**
   * Completes when the last block is done and no thread runs any more; fails with a {@link
   * KernelFaultException}. Dependent actions run on a worker thread and must be short.
   */
  public CompletableFuture<Void> completion() {
    return completion;
  }

  /**
   * Stops the grid: blocks not yet started never start, running threads stop within some loop turns
   * or at their next wait. {@link #completion()} then fails with {@link
   * KernelFaultException#LAUNCH_TIMEOUT}.
   */
  public void cancel() {
    if (!finished.get()) {
      grid.stop(
          new KernelFaultException(
              KernelFaultException.LAUNCH_TIMEOUT, "the launch was cancelled"));
    }
  }

  /** Thread time spent in this grid so far, summed over cores. */
  public long busyNanos() {
    return grid.busyNanos();
  }

  /** Whether no thread is in the grid any more, and none will be. */
  boolean isFinished() {
    return finished.get();
  }

  /** Claims the right to complete; runs {@code cleanup} if this is the first call. */
  boolean finish(Runnable cleanup) {
    if (!finished.compareAndSet(false, true)) {
      return false;
    }
    cleanup.run();
    return true;
  }

  void complete(@Nullable KernelFaultException fault) {
    if (fault == null) {
      completion.complete(null);
    } else {
      completion.completeExceptionally(fault);
    }
  }
}
