// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CopyExtent;
import io.gpupool.cuda.CopyRegion;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.DownloadOps;
import io.gpupool.worker.session.call.CopyWait;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.AnswerLog;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.concurrent.ExecutorService;
import java.util.function.IntSupplier;
import java.util.function.LongToIntFunction;

/** Copies to the host. Used by the session's thread; long ones go on in a waiting thread. */
public final class Downloads implements DownloadOps {
  /*
   * Short copies, and all copies that nobody waits for, are put into the stream at once, into staging
   * blocks, for what comes behind them in the stream may change their source. Of a long copy that its
   * caller waits for, only the place in the stream is marked; a thread of its own then moves it
   * through two blocks, or sends it from where it lies if the backend allows that.
   */
  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final Waits waits;
  private final ExecutorService threads;
  private final OwnedMemory owned;
  private final StagingBlocks blocks;

  /** Device memory that is sent from where it lies. */
  private static final class Source implements AnswerLog.Lender {
    @Override
    public void give(long address) {
      // It is the program's.
    }
  }

  public Downloads(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Answers answers,
      Waits waits,
      ExecutorService threads,
      OwnedMemory owned,
      StagingBlocks blocks) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.waits = waits;
    this.threads = threads;
    this.owned = owned;
    this.blocks = blocks;
  }

  @Override
  public void memcpyDtoH(int tag, long source, long lengthBytes, int stream) {
    ContextState context = call.context();
    int refused = check(context, stream, source, lengthBytes);
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    if (lengthBytes <= Staging.BLOCK_BYTES) {
      CopyWait wait = new CopyWait(context, backend, answers, tag, true);
      capture(wait, () -> captureRun(wait, source, lengthBytes, handles.stream(stream)));
      return;
    }
    long event = context.events.take();
    int result = event > 0 ? 0 : (int) -event;
    if (result == 0) {
      result = backend.cuEventRecord(event, handles.stream(stream));
    }
    if (result != 0) {
      call.reply(tag, result);
      return;
    }
    context.waitingThreads.incrementAndGet();
    threads.execute(() -> move(context, tag, event, source, lengthBytes));
  }

  @Override
  public int memcpyDtoHPosted(int copy, long source, long lengthBytes, int stream) {
    ContextState context = call.context();
    int refused = check(context, stream, source, lengthBytes);
    if (refused != 0) {
      answers.reply(copy, refused);
      return refused;
    }
    CopyWait wait = new CopyWait(context, backend, answers, copy, false);
    return capture(wait, () -> captureRun(wait, source, lengthBytes, handles.stream(stream)));
  }

  /** Answers with the bytes of a region, row after row. */
  @Override
  public int read3D(int copy, CopyRegion from, CopyExtent extent, int stream) {
    Copy3D.Side source = Copy3D.Side.of(from, handles);
    Copy3D box = Copy3D.of(extent);
    ContextState context = call.context();
    int refused = check(context, stream, 0, 0);
    if (refused == 0) {
      refused = source.found();
    }
    if (refused == 0 && !(box.isGood() && source.takes(box, owned))) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      answers.reply(copy, refused);
      return refused;
    }
    CopyWait wait = new CopyWait(context, backend, answers, copy, false);
    long streamHandle = handles.stream(stream);
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
                            backend.cuMemcpy3DAsync_v2(
                                piece.describeToHost(
                                    call.in(), block, source.at(pieceX, pieceY, pieceZ)),
                                streamHandle))));
  }

  private int check(ContextState context, int stream, long source, long lengthBytes) {
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (lengthBytes < 0 || !owned.owns(source, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    if (waits.size() >= Waits.MAX_WAITS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    return HandleTable.found(handles.stream(stream));
  }

  /** Puts a copy into its stream, piece by piece. */
  private int capture(CopyWait wait, IntSupplier pieces) {
    waits.add(wait);
    int result = pieces.getAsInt();
    answers.lock();
    try {
      wait.close(result);
    } finally {
      answers.unlock();
    }
    waits.poll();
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
              block -> backend.cuMemcpyDtoHAsync_v2(block, from, length, stream));
    }
    return result;
  }

  private int capturePiece(
      CopyWait wait, long offset, int lengthBytes, long stream, LongToIntFunction copy) {
    ContextState context = wait.context;
    long block = blocks.take(context, lengthBytes, () -> true, waits::awaitCopy);
    if (block == 0) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long event = context.events.take();
    int result = event > 0 ? 0 : (int) -event;
    if (result == 0) {
      result = copy.applyAsInt(block);
    }
    if (result == 0) {
      result = backend.cuEventRecord(event, stream);
    }
    if (result != 0) {
      context.staging.give(block);
      return result;
    }
    answers.lock();
    try {
      wait.add(block, event, offset, lengthBytes);
    } finally {
      answers.unlock();
    }
    return 0;
  }

  private void move(ContextState context, int tag, long event, long source, long lengthBytes) {
    try {
      backend.cuCtxSetCurrent(context.handle);
      int result = backend.cuEventSynchronize(event);
      context.events.give(event);
      if (result == 0) {
        // The memory stays as it is until the caller knows that the copy is complete.
        Source itself = new Source();
        result =
            new PieceReader(backend, owned, context)
                .read(
                    source,
                    lengthBytes,
                    (at, piece, bytes, lender) ->
                        answers.data(tag, at, piece, bytes, lender == null ? itself : lender));
        answers.copyLent(itself);
      }
      if (CudaResult.isSticky(result)) {
        context.report(result);
      }
      answers.lock();
      try {
        waits.completeCopies(context);
        answers.reply(tag, result);
        answers.flush();
      } finally {
        answers.unlock();
      }
    } finally {
      context.waitingThreads.decrementAndGet();
    }
  }
}
