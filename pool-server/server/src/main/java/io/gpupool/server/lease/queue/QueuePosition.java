// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.control.v1.Cause;
import java.util.function.Supplier;

/**
 * The position of a request in the queue, and why it waits.
 *
 * @param place the next one has place 1
 * @param cause with which the request is refused if it waits no longer
 * @param reasons gives the reason, which takes a look at all leases, only if it is asked for
 */
public record QueuePosition(
    QueuedRequest request, int place, Cause cause, Supplier<String> reasons) {
  public String reason() {
    return reasons.get();
  }

  /** Whether the request waits for its tenant's other leases, not for GPUs. */
  public boolean isOverQuota() {
    return cause == Cause.CAUSE_DENIED;
  }
}
