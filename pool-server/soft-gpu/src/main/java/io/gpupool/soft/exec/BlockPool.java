// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.ArrayDeque;
import java.util.Deque;

/** Thread blocks that are not in use, with their memory; one pool a worker thread. */
final class BlockPool {
  private static final int MAX_KEPT = 4;

  private final Deque<ThreadBlock> free = new ArrayDeque<>();
  private final int worker;

  BlockPool(int worker) {
    this.worker = worker;
  }

  ThreadBlock take() {
    ThreadBlock block = free.poll();
    return block == null ? new ThreadBlock(worker) : block;
  }

  void give(ThreadBlock block) {
    if (free.size() < MAX_KEPT) {
      free.push(block);
    } else {
      block.release();
    }
  }

  void release() {
    free.forEach(ThreadBlock::release);
    free.clear();
  }
}
