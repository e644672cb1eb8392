// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.rejection.RejectionReason;
import java.util.function.Supplier;

/**
 * The position of a request in the queue, and why it waits.
 *
 * @param place the next one has place 1
 * @param isOverQuota whether the request waits for its tenant's other leases, not for GPUs
 * @param reasons gives the reason, which takes a look at all leases, only if it is asked for
 */
public record QueuePosition(
    QueuedRequest request, int place, boolean isOverQuota, Supplier<RejectionReason> reasons) {
  /** The number of places, from the first, whose reasons tell the moves that make room. */
  public static final int PLANNED = 4;

  public RejectionReason reason() {
    return reasons.get();
  }
}
