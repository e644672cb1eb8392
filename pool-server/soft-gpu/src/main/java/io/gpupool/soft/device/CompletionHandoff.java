// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Settles who follows up an operation that is begun by one thread and ended by another: the
 * beginner if it ended while being begun, else the ender.
 */
final class CompletionHandoff {
  private enum State {
    BEGINNING,
    RUNNING,
    OVER
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.BEGINNING);

  /** By the beginner, last: whether the operation is over already. */
  boolean isOverOnceBegun() {
    return !state.compareAndSet(State.BEGINNING, State.RUNNING);
  }

  /** By the ender: whether it must follow up. Only the first of several calls can. */
  boolean end() {
    return state.getAndSet(State.OVER) == State.RUNNING;
  }
}
