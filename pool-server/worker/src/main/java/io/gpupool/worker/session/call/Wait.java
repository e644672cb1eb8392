// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.worker.session.core.ContextState;

/** A call to be answered once events of the backend are reached. Guarded by the answers' lock. */
abstract class Wait {
  public final ContextState context;

  /** True when a waiting thread looks after it. */
  boolean handedOver;

  boolean finished;

  Wait(ContextState context) {
    this.context = context;
  }

  /** Goes as far as it can without waiting; true when all its events are reached. */
  abstract boolean advance();

  /** Answers; called once, after {@link #advance} said true. */
  abstract void answer();

  /** Returns whether there is an event to wait for. */
  abstract boolean hasEvent();

  /** The event to wait for next. */
  abstract long nextEvent();

  /** Ends the waiting with an error. */
  abstract void fail(int result);

  /** Returns whether its answer means that all copies before it are complete. */
  abstract boolean isFence();
}
