// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.records.GangKey;
import io.gpupool.server.records.LeaseSpec;
import java.util.Optional;

/**
 * A lease request in the queue, as the scheduler sees it.
 *
 * @param number in the order in which the requests came
 * @param sinceNanos when it came
 */
public record QueuedRequest(long number, LeaseSpec spec, long sinceNanos) {
  /** Returns the gang with which it is granted; empty: it is granted by itself. */
  Optional<GangKey> gang() {
    return spec.gang() == null ? Optional.empty() : spec.owner().gangKey();
  }

  public String id() {
    return "Q" + number;
  }
}
