// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RejectionReason;

/** An explainer of the scheduler's decisions. Used by the control thread. */
record QueueExplainer(Capacity capacity, LeaseService leases) {
  /** Returns why a request waits or is refused. */
  RejectionReason reason(Decision decision, LeaseSpec spec) {
    return switch (decision) {
      case Decision.Grant grant -> new RejectionReason.NotScheduledYet();
      case Decision.NoCapacity noCapacity -> noCapacity(noCapacity, spec);
      case Decision.Reserved reserved -> new RejectionReason.KeptForEarlier(reserved.first().id());
      case Decision.OverQuota over -> over.reason();
      case Decision.Unsatisfiable never -> never.reason();
    };
  }

  private RejectionReason noCapacity(Decision.NoCapacity decision, LeaseSpec spec) {
    return new Shortage(decision.noCapacity(), spec).reason(capacity, leases.all());
  }
}
