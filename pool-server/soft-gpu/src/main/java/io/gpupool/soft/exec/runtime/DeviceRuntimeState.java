// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

/**
 * The state of the device runtime in a block, made at the first call: its streams, and the last
 * error of each thread. Owned by the worker thread that runs the block.
 */
public final class DeviceRuntimeState {
  private final BlockRuntime runtime;
  private final int[] errors;

  public DeviceRuntimeState(BlockRuntime runtime, int threads) {
    this.runtime = runtime;
    errors = new int[threads];
  }

  public BlockRuntime runtime() {
    return runtime;
  }

  /** The last error of a thread. */
  public int error(int thread) {
    return errors[thread];
  }

  /** Notes a thread's last error; 0 takes it back. */
  public void error(int thread, int error) {
    errors[thread] = error;
  }
}
