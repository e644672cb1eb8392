// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.LeaseRequest;
import java.time.Instant;
import java.util.Optional;

/** A pool as the leases of one pod see it. Called, and calls back, on the controller's thread. */
public interface LeasePool {
  /** Asks for a lease, which the stream then holds. */
  Stream ask(LeaseRequest request, LeaseEventStream.Listener listener);

  /**
   * Ends a lease, and retries until that is done.
   *
   * @param done run once it has ended or no longer exists
   */
  void release(String lease, String reason, Runnable done);

  /**
   * Returns until when a program may come back to a lease that has lost its connection, the first
   * if several have; empty: none has.
   */
  Optional<Instant> disconnectedUntil(String lease);

  /** Starts a sweep soon, for leases that may have been granted when nobody listened any more. */
  void sweepSoon();

  /** A request for a lease, or a lease that it holds. */
  interface Stream {
    /** Withdraws the request or lets the lease go; the listener is not called any more. */
    void cancel();
  }
}
