// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

/** The barrier of a cluster as its threads use it. Called by generated code. */
public final class ClusterSync {
  private ClusterSync() {}

  /** Counts for those that wait: in a kernel whose threads never wait, for nobody. */
  public static void arrive(ThreadBlock block, int thread) {
    if (block.grid().kernel().waits()) {
      block.scheduler().cluster().arrive(thread);
    }
  }

  /** Returns whether all threads of the cluster have arrived already. */
  public static boolean await(ThreadBlock block, int thread) {
    return block.scheduler().cluster().await(thread);
  }
}
