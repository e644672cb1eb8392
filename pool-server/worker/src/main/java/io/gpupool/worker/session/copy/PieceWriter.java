// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * A writer of a long range of device memory while its stream stands still, in pieces of at most
 * {@link FrameLimits.MAX_DATA_BYTES} that come one after the other: to where it lies if the backend
 * allows that, else through two blocks. One thread uses it.
 */
public final class PieceWriter {
  private static final int BLOCKS = 2;

  private final Backend backend;
  private final OwnedMemory owned;
  private final ContextState context;
  private final long target;
  private final boolean direct;
  private final long[] blocks = new long[BLOCKS];
  private final long[] events = new long[BLOCKS];
  private long stream;
  private int turn;
  private int result;

  public PieceWriter(
      Backend backend, OwnedMemory owned, ContextState context, long target, long lengthBytes) {
    this.backend = backend;
    this.owned = owned;
    this.context = context;
    this.target = target;
    direct = backend.isReadable(target, lengthBytes);
  }

  /** Returns the address for the piece at an offset. */
  public long place(long offset) {
    if (direct) {
      return target + offset;
    }
    backend.cuCtxSetCurrent(context.handle);
    if (blocks[turn] == 0) {
      blocks[turn] = Posix.map(Staging.BLOCK_BYTES);
      events[turn] = context.events.take();
      note(events[turn] > 0 ? 0 : (int) -events[turn]);
    } else if (events[turn] > 0) {
      note(backend.cuEventSynchronize(events[turn]));
    }
    return blocks[turn];
  }

  /** The piece is there. */
  public void placed(long offset, int lengthBytes) {
    if (direct) {
      return;
    }
    if (stream == 0 && result == 0) {
      long taken = context.spareStreams.take();
      note(taken > 0 ? 0 : (int) -taken);
      stream = Math.max(0, taken);
    }
    if (result == 0) {
      note(
          owned.whileOwned(
              target + offset,
              lengthBytes,
              () ->
                  backend.cuMemcpyHtoDAsync_v2(
                      target + offset, blocks[turn], lengthBytes, stream)));
    }
    if (result == 0) {
      note(backend.cuEventRecord(events[turn], stream));
    }
    turn = (turn + 1) % BLOCKS;
  }

  /** Waits until all is written; returns a CUresult. */
  public int finish() {
    if (direct) {
      return result;
    }
    backend.cuCtxSetCurrent(context.handle);
    if (stream != 0) {
      note(backend.cuStreamSynchronize(stream));
      context.spareStreams.give(stream);
    }
    for (int i = 0; i < BLOCKS; i++) {
      if (blocks[i] != 0) {
        Posix.unmap(blocks[i], Staging.BLOCK_BYTES);
      }
      if (events[i] > 0) {
        context.events.give(events[i]);
      }
    }
    return result;
  }

  private void note(int latest) {
    if (result == 0) {
      result = latest;
    }
  }
}
