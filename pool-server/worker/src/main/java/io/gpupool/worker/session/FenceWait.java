// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;

/** A synchronising call: answered when all events, one a stream, are reached. */
final class FenceWait extends Wait {
  private final Backend backend;
  private final Answers answers;
  private final int tag;
  private final boolean driverPrints;
  private final long[] events;
  private int next;
  private int result;

  /**
   * Makes a wait.
   *
   * @param driverPrints whether the driver must be synchronised to print
   * @param events of the context's pool; they go back to it
   */
  FenceWait(
      ContextState context,
      Backend backend,
      Answers answers,
      int tag,
      boolean driverPrints,
      long... events) {
    super(context);
    this.backend = backend;
    this.answers = answers;
    this.tag = tag;
    this.driverPrints = driverPrints;
    this.events = events;
  }

  @Override
  boolean advance() {
    while (next < events.length) {
      int reached = backend.cuEventQuery(events[next]);
      if (reached == CudaResult.NOT_READY) {
        return false;
      }
      if (driverPrints && reached == 0) {
        reached = backend.cuEventSynchronize(events[next]);
      }
      fail(reached);
    }
    return true;
  }

  @Override
  void fail(int reached) {
    if (result == 0) {
      result = reached;
    }
    if (next < events.length) {
      context.events.give(events[next]);
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
    return next < events.length;
  }

  @Override
  long nextEvent() {
    return events[next];
  }

  @Override
  boolean isFence() {
    return true;
  }
}
