// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a cluster, one in most launches. One worker thread runs all of them, in turns, so
 * that they can wait for each other and touch each other's shared memory. Owned by that thread.
 */
public final class BlockCluster {
  private final ThreadBlock[] blocks;
  private final boolean[] ended;
  private final ClusterBarrier barrier = new ClusterBarrier();
  private ClusterShape shape = ClusterShape.SINGLE;
  private long countX;
  private long countY;
  private int left;
  private int running;

  BlockCluster(ThreadBlock[] blocks) {
    this.blocks = blocks;
    ended = new boolean[blocks.length];
  }

  /** Makes room for the blocks of clusters of a grid; what that throws leaves nothing behind. */
  public static BlockCluster of(Grid grid, BlockPool pool) {
    BlockCluster cluster = pool.take(grid.launch().cluster().blocks());
    try {
      cluster.enter(grid);
      return cluster;
    } catch (OutOfMemoryError | RuntimeException e) {
      cluster.release();
      throw e;
    }
  }

  private void enter(Grid grid) {
    Launch launch = grid.launch();
    shape = launch.cluster();
    countX = launch.grid().x() / shape.x();
    countY = launch.grid().y() / shape.y();
    barrier.clear();
    for (int rank = 0; rank < blocks.length; rank++) {
      ThreadBlock block = blocks[rank];
      block.enter(grid, this, rank);
      if (grid.kernel().waits()) {
        barrier.add(block.scheduler().cluster());
      }
    }
  }

  List<ThreadBlock> blocks() {
    return List.of(blocks);
  }

  public ClusterShape shape() {
    return shape;
  }

  /** The block that ran last. */
  public ThreadBlock running() {
    return blocks[running];
  }

  /** A block whose shared memory is there; null if it has ended, or no block has that rank. */
  public @Nullable ThreadBlock resident(int rank) {
    return rank < 0 || rank >= blocks.length || ended[rank] ? null : blocks[rank];
  }

  public void release() {
    for (ThreadBlock block : blocks) {
      block.release();
    }
  }

  /** Prepares for the cluster of some index. */
  public void begin(long index) {
    // Most grids are a row: a division costs more than the rest of this.
    long row = index < countX ? 0 : index / countX;
    long plane = row < countY ? 0 : row / countY;
    int x = (int) (index - row * countX) * shape.x();
    int y = (int) (row - plane * countY) * shape.y();
    int z = (int) plane * shape.z();
    running = 0;
    left = blocks.length;
    barrier.begin();
    int rank = 0;
    for (int inZ = 0; inZ < shape.z(); inZ++) {
      for (int inY = 0; inY < shape.y(); inY++) {
        for (int inX = 0; inX < shape.x(); inX++) {
          ended[rank] = false;
          blocks[rank++].begin(x + inX, y + inY, z + inZ);
        }
      }
    }
  }

  /**
   * Runs the blocks.
   *
   * @return whether all have ended; false if they only spin, waiting for another cluster
   */
  public boolean advance() {
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
          moved |= over || block.scheduler().hasMoved();
          stood &= !over && block.scheduler().hasStood();
        }
      }
      if (stood && !moved) {
        throw new DeviceFaultException(
            KernelFaultException.LAUNCH_TIMEOUT,
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
      barrier.blockEnded(blocks[rank].scheduler().cluster());
    }
  }
}
