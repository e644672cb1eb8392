// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;

/**
 * The client of a lease request. It is told on the control thread; after {@code granted}, {@code
 * refused} or {@code redirected} no more.
 */
public interface QueueClient {
  /** The hold with which the client keeps the lease alive from the moment it is granted. */
  LeaseHold hold();

  /** The request waits; told again whenever its place changes. The next one has place 1. */
  void queued(int place, RejectionReason reason);

  void granted(GrantedLease granted);

  void refused(LeaseRefusal refusal);

  /** This server cannot serve the request any more; another one that is asked again may. */
  default void redirected(String reason) {
    refused(new LeaseRefusal(new RejectionReason.ServerStopping(), "", 0));
  }
}
