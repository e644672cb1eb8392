// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

/**
 * The blocks of a cluster, one in most launches. One worker thread runs all of them, in turns, so
 * that they can wait for each other and touch each other's shared memory. Owned by that thread.
 */
final class BlockCluster {
  private final ClusterShape shape;
  private final ThreadBlock[] blocks;
  private final boolean[] ended;
  private final ClusterBarrier barrier = new ClusterBarrier();
  private int left;
  private int running;

  private BlockCluster(Grid grid) {
    shape = grid.launch().cluster();
    blocks = new ThreadBlock[shape.blocks()];
    ended = new boolean[blocks.length];
  }

  /** Makes room for the blocks of clusters of a grid; what that throws leaves nothing behind. */
  static BlockCluster of(Grid grid, BlockPool pool) {
    BlockCluster cluster = new BlockCluster(grid);
    int rank = 0;
    try {
      for (; rank < cluster.blocks.length; rank++) {
        cluster.blocks[rank] = pool.take();
        cluster.enter(grid, rank);
      }
      return cluster;
    } catch (OutOfMemoryError | RuntimeException e) {
      for (; rank >= 0; rank--) {
        cluster.blocks[rank].release();
      }
      throw e;
    }
  }

  private void enter(Grid grid, int rank) {
    ThreadBlock block = blocks[rank];
    block.enter(grid, this, rank);
    if (grid.kernel().waits()) {
      barrier.add(block.waiting().cluster());
    }
  }

  ClusterShape shape() {
    return shape;
  }

  /** The block that ran last. */
  ThreadBlock running() {
    return blocks[running];
  }

  /** A block whose shared memory is there; null if it has ended, or no block has that rank. */
  ThreadBlock resident(int rank) {
    return rank < 0 || rank >= blocks.length || ended[rank] ? null : blocks[rank];
  }

  /** Gives the memory of its blocks to who runs the next ones. */
  void give(BlockPool pool) {
    for (ThreadBlock block : blocks) {
      pool.give(block);
    }
  }

  void release() {
    for (ThreadBlock block : blocks) {
      block.release();
    }
  }

  /** Prepares for the cluster of some index. */
  void begin(long index) {
    Launch launch = running().grid().launch();
    int countX = launch.gridX() / shape.x();
    int countY = launch.gridY() / shape.y();
    int x = (int) (index % countX) * shape.x();
    int y = (int) (index / countX % countY) * shape.y();
    int z = (int) (index / countX / countY) * shape.z();
    running = 0;
    left = blocks.length;
    barrier.begin();
    for (int rank = 0; rank < blocks.length; rank++) {
      ended[rank] = false;
      int inX = rank % shape.x();
      int inY = rank / shape.x() % shape.y();
      blocks[rank].begin(x + inX, y + inY, z + rank / shape.x() / shape.y());
    }
  }

  /**
   * Runs the blocks.
   *
   * @return whether all have ended; false if they only spin, waiting for another cluster
   */
  boolean advance() {
    if (blocks.length == 1) {
      boolean over = blocks[0].advance();
      blocks[0].assertions().throwIfFailed();
      return over;
    }
    while (left > 0) {
      boolean moved = false;
      boolean stood = true;
      for (int rank = 0; rank < blocks.length; rank++) {
        if (!ended[rank]) {
          running = rank;
          ThreadBlock block = blocks[rank];
          boolean over = block.advance();
          block.assertions().throwIfFailed();
          if (over) {
            end(rank);
          }
          moved |= over || block.waiting().hasMoved();
          stood &= !over && block.waiting().hasStood();
        }
      }
      if (stood && !moved) {
        throw new DeviceFault(
            KernelFault.LAUNCH_TIMEOUT,
            "deadlock: the remaining " + left + " blocks of a cluster wait for each other");
      }
      if (!moved) {
        return false;
      }
    }
    return true;
  }

  private void end(int rank) {
    ended[rank] = true;
    left--;
    if (running().grid().kernel().waits()) {
      barrier.blockEnded(blocks[rank].waiting().cluster());
    }
  }
}
