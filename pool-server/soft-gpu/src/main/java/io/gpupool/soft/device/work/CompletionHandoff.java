// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Handoff of the work that follows an operation begun by one thread and ended by another: to the
 * first if the operation ended while being begun, else to the second.
 */
public final class CompletionHandoff {
  private enum State {
    BEGINNING,
    RUNNING,
    OVER
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.BEGINNING);

  /** By the beginner, last: whether the operation is over already. */
  public boolean isOverOnceBegun() {
    return !state.compareAndSet(State.BEGINNING, State.RUNNING);
  }

  /** By the ender: whether it must follow up. Only the first of several calls can. */
  public boolean end() {
    return state.getAndSet(State.OVER) == State.RUNNING;
  }
}
