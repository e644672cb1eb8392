// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;

/** A few staging blocks in turn, through which a long copy to the host goes. One thread uses it. */
final class PieceRing implements AutoCloseable {
  private static final int BLOCKS = 4;
  private static final int BLOCKS_AT_FIRST = 2;

  private final Backend backend;
  private final OwnedMemory owned;
  private final ContextState context;
  private final long stream;
  private final long[] blocks = new long[BLOCKS];
  private final long[] events = new long[BLOCKS];
  private int head;
  private int used;

  /** How many blocks are in use: few, which stay in the cache, unless the device is behind. */
  private int depth = BLOCKS_AT_FIRST;

  PieceRing(Backend backend, OwnedMemory owned, ContextState context, long stream) {
    this.backend = backend;
    this.owned = owned;
    this.context = context;
    this.stream = stream;
  }

  boolean hasRoom() {
    return used < depth;
  }

  /** Starts copying into the next block. */
  int copy(long source, int lengthBytes) {
    int place = (head + used) % BLOCKS;
    // Apart from the limit, which is for copies that pile up: these few are few by themselves.
    long block = context.staging.take(Staging.BLOCK_BYTES, Staging.MAX_BYTES);
    if (block == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    blocks[place] = block;
    if (events[place] <= 0) {
      events[place] = context.events.take();
    }
    if (events[place] < 0) {
      return (int) -events[place];
    }
    int result =
        owned.whileOwned(
            source,
            lengthBytes,
            () -> backend.cuMemcpyDtoHAsync_v2(block, source, lengthBytes, stream));
    if (result == 0) {
      result = backend.cuEventRecord(events[place], stream);
    }
    used++;
    return result;
  }

  /** Waits for the oldest block. */
  int await() {
    if (depth < BLOCKS && backend.cuEventQuery(events[head]) == CudaResult.NOT_READY) {
      depth++;
    }
    return backend.cuEventSynchronize(events[head]);
  }

  long oldest() {
    return blocks[head];
  }

  /**
   * The oldest block is done with.
   *
   * @param lent whether somebody else gives it back
   */
  void advance(boolean lent) {
    if (!lent) {
      // The next piece takes the block that was used last.
      context.staging.give(blocks[head]);
    }
    blocks[head] = 0;
    head = (head + 1) % BLOCKS;
    used--;
  }

  @Override
  public void close() {
    backend.cuStreamSynchronize(stream);
    for (int i = 0; i < BLOCKS; i++) {
      if (blocks[i] != 0) {
        context.staging.give(blocks[i]);
      }
      if (events[i] > 0) {
        context.events.give(events[i]);
      }
    }
  }
}
