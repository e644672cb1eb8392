// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.control.v1.Cause;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.records.LeaseSpec;

/** An explainer of the scheduler's decisions to people. Used by the control thread. */
record QueueExplainer(Capacity capacity, LeaseService leases) {
  /** The cause with which a request is refused that waits no longer. */
  Cause cause(Decision decision) {
    return switch (decision) {
      case Decision.Grant grant -> Cause.CAUSE_NO_CAPACITY;
      case Decision.NoCapacity full ->
          isDraining(full) ? Cause.CAUSE_DRAINING : Cause.CAUSE_NO_CAPACITY;
      case Decision.Reserved reserved -> Cause.CAUSE_NO_CAPACITY;
      case Decision.OverQuota over -> Cause.CAUSE_DENIED;
      case Decision.Unsatisfiable never -> Cause.CAUSE_NO_MATCH;
    };
  }

  /** The reason why a request waits or is refused, and what its holder can do. */
  String reason(Decision decision, LeaseSpec spec) {
    return switch (decision) {
      case Decision.Grant grant -> "it is its turn";
      case Decision.NoCapacity full ->
          new Shortage(full.full(), spec).explain(isDraining(full), leases.all());
      case Decision.Reserved reserved ->
          "what is free is kept for a request that has waited longer ("
              + reserved.first().id()
              + ")";
      case Decision.OverQuota over -> over.reason();
      case Decision.Unsatisfiable never ->
          never.reason() + (never.isTooLarge() ? "; " + spec.howToAskForLess() : "");
    };
  }

  private boolean isDraining(Decision.NoCapacity decision) {
    return capacity.isDraining(decision.full().best().gpu().server());
  }
}
