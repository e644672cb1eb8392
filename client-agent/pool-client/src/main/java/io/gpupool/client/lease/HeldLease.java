// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.Lease;
import java.util.concurrent.CompletableFuture;

/** A lease that this process holds. For any thread. */
public interface HeldLease {
  /** Returns the granted lease, secret included. */
  Lease lease();

  /** Returns the form in which programs get it: {@code ID.SECRET}. */
  default String ticket() {
    return lease().getId() + "." + lease().getSecret();
  }

  /** Completes with the reason when the lease has ended without {@link #release}. */
  CompletableFuture<String> ended();

  /** Ends the lease; completes when the pool has confirmed it or cannot be reached. */
  CompletableFuture<Void> release();

  /** Holds the lease no longer, and leaves it to the next holder: the pool waits for one. */
  void releaseHold();
}
