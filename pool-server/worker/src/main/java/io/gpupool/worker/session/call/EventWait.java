// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;

/**
 * A wait for several events, one after the other, that ends with the answer of one call. Its events
 * are of the context's pool and go back to it. Guarded by the answers' lock.
 */
abstract class EventWait extends Wait {
  private final Backend backend;
  private final Answers answers;
  private final int tag;
  private int next;
  private int result;

  EventWait(ContextState context, Backend backend, Answers answers, int tag) {
    super(context);
    this.backend = backend;
    this.answers = answers;
    this.tag = tag;
  }

  /** Returns the number of events so far. */
  abstract int events();

  abstract long event(int index);

  /** Returns whether no further event is added. */
  abstract boolean isClosed();

  /**
   * Acts on an event that is reached.
   *
   * @param answerable whether nothing has failed so far
   * @return a CUresult in place of success
   */
  abstract int reached(int index, boolean answerable);

  /** Gives back what an event stood for, apart from itself. */
  abstract void passed(int index);

  /** Keeps the first error, which becomes the answer. */
  final void keep(int reached) {
    if (result == 0) {
      result = reached;
    }
  }

  @Override
  final boolean advance() {
    while (hasEvent()) {
      int reached = backend.cuEventQuery(nextEvent());
      if (reached == CudaResult.NOT_READY) {
        return false;
      }
      fail(reached == 0 ? reached(next, result == 0) : reached);
    }
    return isClosed();
  }

  @Override
  final void fail(int reached) {
    keep(reached);
    if (hasEvent()) {
      passed(next);
      context.events.give(nextEvent());
      next++;
    }
  }

  @Override
  final void answer() {
    if (result == 0 && isFence()) {
      // Of what failed while it waited, such as a collective.
      result = context.takeError();
    }
    if (CudaResult.isSticky(result)) {
      context.report(result);
    }
    answers.reply(tag, result);
  }

  @Override
  final boolean hasEvent() {
    return next < events();
  }

  @Override
  final long nextEvent() {
    return event(next);
  }
}
