// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Thread blocks that are not in use, with their memory; one pool a worker thread. */
public final class BlockPool {
  private static final int MAX_KEPT = 4;

  private final Deque<ThreadBlock> free = new ArrayDeque<>();
  private final int worker;

  /** A cluster of one block, which most launches need; null if it is in use. */
  private @Nullable BlockCluster single;

  public BlockPool(int worker) {
    this.worker = worker;
  }

  /** A cluster of so many blocks, which are still to enter a grid. */
  BlockCluster take(int count) {
    if (count == 1 && single != null) {
      BlockCluster taken = single;
      single = null;
      return taken;
    }
    ThreadBlock[] blocks = new ThreadBlock[count];
    for (int rank = 0; rank < count; rank++) {
      ThreadBlock block = free.poll();
      blocks[rank] = block == null ? new ThreadBlock(worker) : block;
    }
    return new BlockCluster(blocks);
  }

  public void give(BlockCluster cluster) {
    if (cluster.shape().blocks() == 1 && single == null) {
      single = cluster;
    } else {
      cluster.blocks().forEach(this::give);
    }
  }

  private void give(ThreadBlock block) {
    if (free.size() < MAX_KEPT) {
      free.push(block);
    } else {
      block.release();
    }
  }

  public void release() {
    if (single != null) {
      single.release();
      single = null;
    }
    free.forEach(ThreadBlock::release);
    free.clear();
  }
}
