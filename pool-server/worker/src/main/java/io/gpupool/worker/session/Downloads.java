// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.DownloadOps;
import io.gpupool.cuda.SessionServices;
import java.util.function.IntSupplier;
import java.util.function.LongToIntFunction;

/** Copies to the host. Used by the session's thread; long ones go on in a waiting thread. */
final class Downloads implements DownloadOps {
  /*
   * Short copies, and all copies that nobody waits for, are put into the stream at once, into staging
   * blocks, for what comes behind them in the stream may change their source. Of a long copy that its
   * caller waits for, only the place in the stream is marked; a thread of its own then moves it
   * through two blocks, or sends it from where it lies if the backend allows that.
   */
  private final SessionState state;
  private final HostCallbacks callbacks;

  Downloads(SessionState state, HostCallbacks callbacks) {
    this.state = state;
    this.callbacks = callbacks;
  }

  @Override
  public void memcpyDtoH(int tag, long source, long lengthBytes, int stream) {
    ContextState context = state.current;
    int refused = check(context, stream, source, lengthBytes);
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    if (lengthBytes <= Staging.BLOCK_BYTES) {
      CopyWait wait = new CopyWait(context, state.backend, state.answers, tag, true);
      capture(wait, () -> captureRun(wait, source, lengthBytes, state.stream(stream)));
      return;
    }
    long event = context.events.take();
    int result = event > 0 ? 0 : (int) -event;
    if (result == 0) {
      result = state.backend.cuEventRecord(event, state.stream(stream));
    }
    if (result != 0) {
      state.reply(tag, result);
      return;
    }
    context.waitingThreads.incrementAndGet();
    state.threads.execute(() -> move(context, tag, event, source, lengthBytes));
  }

  @Override
  public int memcpyDtoHPosted(int copy, long source, long lengthBytes, int stream) {
    ContextState context = state.current;
    int refused = check(context, stream, source, lengthBytes);
    if (refused != 0) {
      state.answers.reply(copy, refused);
      return refused;
    }
    CopyWait wait = new CopyWait(context, state.backend, state.answers, copy, false);
    return capture(wait, () -> captureRun(wait, source, lengthBytes, state.stream(stream)));
  }

  /** Answers with the bytes of a box, row after row. */
  @Override
  public int boxRead(
      int copy,
      int array,
      long address,
      long x,
      long y,
      long z,
      long pitch,
      long rows,
      long width,
      long height,
      long depth,
      int stream) {
    Copy3D.Side from = state.side(array, address, x, y, z, pitch, rows);
    Copy3D box = new Copy3D(width, height, depth);
    ContextState context = state.current;
    int refused = check(context, stream, 0, 0);
    if (refused == 0 && from.array() == SessionServices.NO_HANDLE) {
      refused = CudaResult.INVALID_HANDLE;
    }
    if (refused == 0 && !(box.isGood() && from.isGood(box) && state.owns(from, box))) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      state.answers.reply(copy, refused);
      return refused;
    }
    CopyWait wait = new CopyWait(context, state.backend, state.answers, copy, false);
    long streamHandle = state.stream(stream);
    return capture(
        wait,
        () ->
            box.cut(
                Staging.BLOCK_BYTES,
                (pieceX, pieceY, pieceZ, piece, offset) ->
                    capturePiece(
                        wait,
                        offset,
                        (int) piece.lengthBytes(),
                        streamHandle,
                        block ->
                            state.backend.cuMemcpy3DAsync_v2(
                                piece.describeToHost(
                                    state.in(), block, from.at(pieceX, pieceY, pieceZ)),
                                streamHandle))));
  }

  private int check(ContextState context, int stream, long source, long lengthBytes) {
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (lengthBytes < 0 || !state.owned.owns(source, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    if (state.waits.size() >= SessionState.MAX_WAITS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    return SessionState.found(state.stream(stream));
  }

  /** Puts a copy into its stream, piece by piece. */
  private int capture(CopyWait wait, IntSupplier pieces) {
    state.waits.add(wait);
    int result = pieces.getAsInt();
    state.answers.lock();
    try {
      wait.close(result);
    } finally {
      state.answers.unlock();
    }
    state.waits.poll();
    return result;
  }

  private int captureRun(CopyWait wait, long source, long lengthBytes, long stream) {
    int result = 0;
    for (long at = 0; at < lengthBytes && result == 0; at += Staging.BLOCK_BYTES) {
      int length = (int) Math.min(Staging.BLOCK_BYTES, lengthBytes - at);
      long from = source + at;
      result =
          capturePiece(
              wait,
              at,
              length,
              stream,
              block -> state.backend.cuMemcpyDtoHAsync_v2(block, from, length, stream));
    }
    return result;
  }

  private int capturePiece(
      CopyWait wait, long offset, int lengthBytes, long stream, LongToIntFunction copy) {
    ContextState context = wait.context;
    long block = takeBlock(context, lengthBytes);
    if (block == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long event = context.events.take();
    int result = event > 0 ? 0 : (int) -event;
    if (result == 0) {
      result = copy.applyAsInt(block);
    }
    if (result == 0) {
      result = state.backend.cuEventRecord(event, stream);
    }
    if (result != 0) {
      context.staging.give(block);
      return result;
    }
    state.answers.lock();
    try {
      wait.add(block, event, offset, lengthBytes);
    } finally {
      state.answers.unlock();
    }
    return 0;
  }

  private long takeBlock(ContextState context, int lengthBytes) {
    while (true) {
      // While a host function runs, waiting could be for ever: what ends it is yet to be read.
      boolean hostFunction = callbacks.anyOutstanding();
      long block = context.staging.take(lengthBytes, hostFunction ? Staging.MAX_BYTES : 0);
      if (block != 0 || hostFunction || !state.waits.awaitCopy()) {
        return block;
      }
    }
  }

  private void move(ContextState context, int tag, long event, long source, long lengthBytes) {
    try {
      state.backend.cuCtxSetCurrent(context.handle);
      int result = state.backend.cuEventSynchronize(event);
      context.events.give(event);
      if (result == 0) {
        result =
            new PieceReader(state.backend, state.owned, context)
                .read(
                    source,
                    lengthBytes,
                    (at, piece, bytes) -> state.answers.data(tag, at, piece, bytes));
      }
      if (CudaResult.isSticky(result)) {
        context.report(result);
      }
      state.answers.lock();
      try {
        state.waits.completeCopies(context);
        state.answers.reply(tag, result);
        state.answers.flush();
      } finally {
        state.answers.unlock();
      }
    } finally {
      context.waitingThreads.decrementAndGet();
    }
  }
}
