// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.placement.Defragmentation;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RejectionReason;
import java.util.List;

/** An explainer of the scheduler's decisions. Used by the control thread. */
record QueueExplainer(Capacity capacity, LeaseService leases, MovePlanner planner) {
  /**
   * Returns why a request waits or is refused.
   *
   * @param place in the queue, from 1
   */
  RejectionReason reason(Decision decision, LeaseSpec spec, int place) {
    return switch (decision) {
      case Decision.Grant grant -> new RejectionReason.NotScheduledYet();
      case Decision.GrantGang gang -> new RejectionReason.NotScheduledYet();
      case Decision.GangIncomplete(var request, String gang, int size, int members) ->
          new RejectionReason.GangIncomplete(gang, size, members);
      case Decision.GangNoCapacity(var request, String gang, int leases, int fitting) ->
          new RejectionReason.GangNoCapacity(gang, leases, fitting);
      case Decision.NoCapacity noCapacity -> noCapacity(noCapacity, spec, place);
      case Decision.Reserved reserved -> new RejectionReason.KeptForEarlier(reserved.first().id());
      case Decision.OverQuota over -> over.reason();
      case Decision.Unsatisfiable never -> never.reason();
    };
  }

  private RejectionReason noCapacity(Decision.NoCapacity decision, LeaseSpec spec, int place) {
    // The moves for one would not make room for those behind it.
    List<Defragmentation.Move> moves =
        place <= QueuePosition.PLANNED ? planner.plan(spec) : List.of();
    return new Shortage(decision.noCapacity(), spec, moves).reason(capacity, leases.all());
  }
}
