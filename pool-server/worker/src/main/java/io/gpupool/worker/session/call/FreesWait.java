// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.ContextState;
import java.util.ArrayDeque;

/**
 * The frees in one stream that have not come to their turn, in their order. Frees are added as long
 * as it is not finished. Guarded by the answers' lock.
 */
final class FreesWait extends Wait {
  private final Backend backend;
  private final ArrayDeque<Free> frees = new ArrayDeque<>();

  /** A free, done at an event of the context's pool. */
  private record Free(long event, Runnable gone) {}

  FreesWait(ContextState context, Backend backend) {
    super(context);
    this.backend = backend;
  }

  /** Adds a free that an event has been recorded behind; told by any thread when it is done. */
  void add(long event, Runnable gone) {
    frees.add(new Free(event, gone));
  }

  @Override
  boolean advance() {
    while (!frees.isEmpty()) {
      int result = backend.cuEventQuery(frees.peek().event);
      if (result == CudaResult.NOT_READY) {
        return false;
      }
      fail(result);
    }
    return true;
  }

  @Override
  void fail(int result) {
    Free free = frees.poll();
    if (free != null) {
      context.events.give(free.event);
      free.gone.run();
    }
  }

  @Override
  void answer() {
    // Nobody waits for it: each free has told of itself.
  }

  @Override
  boolean hasEvent() {
    return !frees.isEmpty();
  }

  @Override
  long nextEvent() {
    return frees.peek().event;
  }

  @Override
  boolean isFence() {
    return false;
  }
}
