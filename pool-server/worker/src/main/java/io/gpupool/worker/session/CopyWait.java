// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import java.util.ArrayList;
import java.util.List;

/** A copy to the host whose bytes are on their way into staging blocks. */
final class CopyWait extends Wait {
  private final Backend backend;
  private final Answers answers;
  private final int tag;
  private final boolean fenced;
  private final List<Piece> pieces = new ArrayList<>();
  private int next;
  private int result;
  private boolean complete;

  private record Piece(long block, long event, long offset, int lengthBytes) {}

  CopyWait(ContextState context, Backend backend, Answers answers, int tag, boolean fenced) {
    super(context);
    this.backend = backend;
    this.answers = answers;
    this.tag = tag;
    this.fenced = fenced;
  }

  /** Adds the next piece; it is in the block once the event is reached. Under the lock. */
  void add(long block, long event, long offset, int lengthBytes) {
    pieces.add(new Piece(block, event, offset, lengthBytes));
  }

  /** No piece comes any more. Under the lock. */
  void close(int reached) {
    complete = true;
    if (result == 0) {
      result = reached;
    }
  }

  @Override
  boolean advance() {
    while (next < pieces.size()) {
      Piece piece = pieces.get(next);
      int reached = backend.cuEventQuery(piece.event);
      if (reached == CudaResult.NOT_READY) {
        return false;
      }
      if (reached == 0 && result == 0) {
        answers.data(tag, piece.offset, piece.block, piece.lengthBytes);
      }
      fail(reached);
    }
    return complete;
  }

  @Override
  void fail(int reached) {
    if (result == 0) {
      result = reached;
    }
    if (next < pieces.size()) {
      Piece piece = pieces.get(next);
      context.staging.give(piece.block);
      context.events.give(piece.event);
      next++;
    }
  }

  @Override
  void answer() {
    if (CudaResult.isSticky(result)) {
      context.report(result);
    }
    answers.reply(tag, result);
  }

  @Override
  boolean hasEvent() {
    return next < pieces.size();
  }

  @Override
  long nextEvent() {
    return pieces.get(next).event;
  }

  @Override
  boolean isFence() {
    return fenced;
  }
}
