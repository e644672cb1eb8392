// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;

/** A listener to what becomes of a request that waits. It is told on the control thread. */
public interface QueueListener {
  /** The request waits; told again whenever its place changes. The next one has place 1. */
  void queued(int place, RejectionReason reason);

  void refused(LeaseRefusal refusal);

  /** This server cannot serve the request any more; another one that is asked again may. */
  default void redirected(String reason) {
    refused(new LeaseRefusal(new RejectionReason.ServerStopping(), "", 0));
  }
}
