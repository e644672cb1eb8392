// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.records.LeaseSpec;

/**
 * A lease request in the queue, as the scheduler sees it.
 *
 * @param number in the order in which the requests came
 * @param sinceNanos when it came
 */
public record QueuedRequest(long number, LeaseSpec spec, long sinceNanos) {
  public String id() {
    return "Q" + number;
  }
}
