// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.placement.Defragmentation;
import io.gpupool.server.records.LeaseSpec;
import java.util.List;

/** A planner of the moves of leases that make room for a request. Used by the control thread. */
@FunctionalInterface
public interface MovePlanner {
  /** Returns the moves, as few as there are; empty: none make room. */
  List<Defragmentation.Move> plan(LeaseSpec spec);
}
