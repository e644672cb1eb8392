// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import java.util.ArrayList;
import java.util.List;

/** A copy to the host whose bytes are on their way into staging blocks. */
public final class CopyWait extends EventWait {
  private final Answers answers;
  private final int tag;
  private final boolean fenced;
  private final List<Piece> pieces = new ArrayList<>();
  private boolean complete;
  private boolean lent;

  private record Piece(long block, long event, long offset, int lengthBytes) {}

  public CopyWait(ContextState context, Backend backend, Answers answers, int tag, boolean fenced) {
    super(context, backend, answers, tag);
    this.answers = answers;
    this.tag = tag;
    this.fenced = fenced;
  }

  /** Adds the next piece; it is in the block once the event is reached. Under the lock. */
  public void add(long block, long event, long offset, int lengthBytes) {
    pieces.add(new Piece(block, event, offset, lengthBytes));
  }

  /** No piece comes any more. Under the lock. */
  public void close(int reached) {
    complete = true;
    keep(reached);
  }

  @Override
  int events() {
    return pieces.size();
  }

  @Override
  long event(int index) {
    return pieces.get(index).event;
  }

  @Override
  boolean isClosed() {
    return complete;
  }

  @Override
  int reached(int index, boolean answerable) {
    if (answerable) {
      Piece piece = pieces.get(index);
      lent = answers.data(tag, piece.offset, piece.block, piece.lengthBytes, context.staging);
    }
    return CudaResult.SUCCESS;
  }

  @Override
  void passed(int index) {
    if (!lent) {
      context.staging.give(pieces.get(index).block);
    }
    lent = false;
  }

  @Override
  boolean isFence() {
    return fenced;
  }
}
