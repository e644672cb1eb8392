// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.model.LeaseHold;

/**
 * The client of a lease request. After {@code granted}, {@code refused} or {@code redirected} it is
 * told no more.
 */
public interface QueueClient extends QueueListener {
  /** The hold with which the client keeps the lease alive from the moment it is granted. */
  LeaseHold hold();

  void granted(GrantedLease granted);
}
