// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import java.util.ArrayList;
import java.util.List;

/**
 * The barrier of a cluster: it lets threads pass when all of them that have not ended have arrived.
 * Owned by the worker thread that runs the cluster.
 */
final class ClusterBarrier {
  private final List<ClusterArrivals> blocks = new ArrayList<>(1);
  private int arrived;

  /** Forgets the blocks of an earlier cluster. */
  void clear() {
    blocks.clear();
  }

  void add(ClusterArrivals block) {
    blocks.add(block);
    block.barrier(this);
  }

  void begin() {
    arrived = 0;
  }

  void arrived() {
    arrived++;
    releaseIfComplete();
  }

  /** A thread ended; it may have arrived before. */
  void threadEnded(boolean hadArrived) {
    if (hadArrived) {
      arrived--;
    }
    if (arrived > 0) {
      releaseIfComplete();
    }
  }

  /** All threads of a block have ended, whether each of them was told of or not. */
  void blockEnded(ClusterArrivals block) {
    arrived -= block.end();
    if (arrived > 0) {
      releaseIfComplete();
    }
  }

  private void releaseIfComplete() {
    int alive = 0;
    for (ClusterArrivals block : blocks) {
      alive += block.alive();
    }
    if (arrived >= alive) {
      arrived = 0;
      blocks.forEach(ClusterArrivals::release);
    }
  }
}
