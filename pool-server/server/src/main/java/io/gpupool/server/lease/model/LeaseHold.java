// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

/** A stream that keeps a lease alive. */
public interface LeaseHold {
  /** The lease has ended for a reason of the pool's; called at most once. */
  void ended(String reason);

  /** The lease goes on, but it is to be held at another server; nothing is called after that. */
  default void redirected() {}
}
