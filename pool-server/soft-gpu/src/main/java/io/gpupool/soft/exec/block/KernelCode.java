// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

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

  /**
   * Runs neighbouring threads, all of which stand at the start of a region, through the region.
   *
   * @param region the place at which they stand
   * @param first linear index of the first thread, whose coordinates follow
   * @param end linear index behind the last thread
   * @return the place to which all have come, 0 if they have ended, -1 if places differ; they are
   *     in {@link ThreadBlock#places} then
   */
  int runRegion(ThreadBlock block, int region, int first, int x, int y, int z, int end);

  /** Runs all threads of a block, one after the other; only for kernels that never wait. */
  void runAll(ThreadBlock block);
}
