// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.memory.MemoryMap;
import java.lang.foreign.MemorySegment;

/** Owns the worker threads that run grids, one a core, shared fairly by the grids in flight. */
public final class GridRunner implements AutoCloseable {
  /**
   * Starts the worker threads.
   *
   * @param threads how many; usually the number of cores
   */
  public GridRunner(int threads) {
    if (threads < 1) {
      throw new IllegalArgumentException("threads must be at least 1: " + threads);
    }
  }

  /**
   * Starts a grid.
   *
   * @param params the parameter block; copied before this returns
   * @param memory what the kernel may touch
   * @param sink takes device printf output
   */
  public GridExecution start(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      PrintfSink sink) {
    GridExecution execution = new GridExecution();
    execution.cancel();
    return execution;
  }

  /**
   * Runs a grid to its end; the calling thread takes part, so a small grid costs no thread hop.
   *
   * @throws KernelFault if the kernel faults or is cancelled
   */
  public void run(
      CompiledKernel kernel, Launch launch, MemorySegment params, MemoryMap memory, PrintfSink sink)
      throws KernelFault {
    throw new KernelFault(KernelFault.LAUNCH_FAILED, "no executor is present");
  }

  /** Cancels what runs and ends the threads. */
  @Override
  public void close() {}
}
