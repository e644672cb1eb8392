// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

/** A compiled kernel's code; implemented by generated classes, called by worker threads. */
public interface KernelCode {
  /**
   * Runs one thread until it ends or must wait.
   *
   * @param thread linear index in its block
   * @param resume where it left off, 0 at its start
   * @return 0 if it has ended, else where to go on
   */
  int run(ThreadBlock block, int thread, int x, int y, int z, int resume);

  /** Runs all threads of a block, one after the other; only for kernels that never wait. */
  void runAll(ThreadBlock block);
}
