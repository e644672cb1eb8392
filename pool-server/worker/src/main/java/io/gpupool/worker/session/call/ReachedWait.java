// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.ContextState;

/**
 * An action to be taken, without waiting, once an event is reached, whatever became of its stream.
 */
public final class ReachedWait extends Wait {
  private final Backend backend;
  private final long event;
  private final Runnable reached;
  private boolean given;

  /** With an event of the context's pool; it goes back there. */
  public ReachedWait(ContextState context, Backend backend, long event, Runnable reached) {
    super(context);
    this.backend = backend;
    this.event = event;
    this.reached = reached;
  }

  @Override
  boolean advance() {
    int result = given ? 0 : backend.cuEventQuery(event);
    if (result == CudaResult.NOT_READY) {
      return false;
    }
    fail(result);
    return true;
  }

  @Override
  void fail(int result) {
    if (!given) {
      given = true;
      context.events.give(event);
    }
  }

  @Override
  void answer() {
    reached.run();
  }

  @Override
  boolean hasEvent() {
    return !given;
  }

  @Override
  long nextEvent() {
    return event;
  }

  @Override
  boolean isFence() {
    return false;
  }
}
