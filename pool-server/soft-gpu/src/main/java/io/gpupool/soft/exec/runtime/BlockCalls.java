// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.runtime.BlockRuntime;

/**
 * The state of the device runtime in a block, made at the first call: its streams, and the last
 * error of each thread. Owned by the worker thread that runs the block.
 */
final class BlockCalls {
  private final BlockRuntime runtime;
  private final int[] errors;

  BlockCalls(BlockRuntime runtime, int threads) {
    this.runtime = runtime;
    errors = new int[threads];
  }

  BlockRuntime runtime() {
    return runtime;
  }

  /** The last error of a thread. */
  int error(int thread) {
    return errors[thread];
  }

  /** Notes a thread's last error; 0 takes it back. */
  void error(int thread, int error) {
    errors[thread] = error;
  }
}
