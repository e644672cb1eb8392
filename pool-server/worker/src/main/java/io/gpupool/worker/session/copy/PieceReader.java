// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;
import org.jspecify.annotations.Nullable;

/**
 * A reader of a long range of device memory that nothing in a stream is to change, in pieces of at
 * most {@link FrameLimits.MAX_DATA_BYTES}: from where it lies if the backend allows that, else
 * through staging blocks. The context is current in the calling thread, which waits.
 */
public final class PieceReader {
  private final Backend backend;
  private final OwnedMemory owned;
  private final ContextState context;

  /** Takes the pieces, in order. */
  public interface Taker {
    /**
     * One piece.
     *
     * @param offset from the beginning of the range
     * @param address of the bytes in this process, good during the call
     * @param lender null: the bytes are good no longer than that
     * @return whether they stay until the lender is told
     */
    boolean take(long offset, long address, int lengthBytes, AnswerLog.@Nullable Lender lender);
  }

  public PieceReader(Backend backend, OwnedMemory owned, ContextState context) {
    this.backend = backend;
    this.owned = owned;
    this.context = context;
  }

  /** Returns a CUresult. */
  public int read(long source, long lengthBytes, Taker taker) {
    return backend.isReadable(source, lengthBytes)
        ? readDirectly(source, lengthBytes, taker)
        : staged(source, lengthBytes, taker);
  }

  /** As {@link #read}, of a range that the backend has said is readable. */
  public static int readDirectly(long source, long lengthBytes, Taker taker) {
    for (long at = 0; at < lengthBytes; at += FrameLimits.MAX_DATA_BYTES) {
      int length = (int) Math.min(FrameLimits.MAX_DATA_BYTES, lengthBytes - at);
      boolean ignored = taker.take(at, source + at, length, null);
    }
    return 0;
  }

  private int staged(long source, long lengthBytes, Taker taker) {
    long stream = context.spareStreams.take();
    if (stream < 0) {
      return (int) -stream;
    }
    try (PieceRing ring = new PieceRing(backend, owned, context, stream)) {
      return staged(source, lengthBytes, taker, ring);
    } finally {
      context.spareStreams.give(stream);
    }
  }

  private int staged(long source, long lengthBytes, Taker taker, PieceRing ring) {
    long taken = 0;
    long asked = 0;
    while (taken < lengthBytes) {
      while (asked < lengthBytes && ring.hasRoom()) {
        int length = (int) Math.min(Staging.BLOCK_BYTES, lengthBytes - asked);
        int result = ring.copy(source + asked, length);
        if (result != 0) {
          return result;
        }
        asked += length;
      }
      int length = (int) Math.min(Staging.BLOCK_BYTES, lengthBytes - taken);
      int result = ring.await();
      if (result != 0) {
        return result;
      }
      ring.advance(taker.take(taken, ring.oldest(), length, context.staging));
      taken += length;
    }
    return 0;
  }
}
