// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.stream.HostCallbacks;
import io.gpupool.worker.session.stream.Streams;

/** The question whether a session's work is all done. Used by the session's thread. */
record IdleCheck(
    Contexts contexts, Streams streams, MemoryQuota quota, Waits waits, HostCallbacks callbacks) {
  /** Returns 0 if no stream has work, NOT_READY if one has, or a CUresult that stays. */
  int query() {
    int result = 0;
    for (ContextState context : contexts.all()) {
      result = result == 0 ? streams.query(context) : result;
    }
    return result;
  }

  /** Returns whether nothing waits for work that was done. */
  boolean isSettled() {
    return waits.isEmpty()
        && contexts.all().stream().allMatch(context -> context.waitingThreads.get() == 0)
        && !callbacks.anyOutstanding()
        && quota.isSettled();
  }

  /** Sends what kernels have printed. */
  void sendPrinted() {
    contexts.all().forEach(waits::sendPrinted);
  }
}
