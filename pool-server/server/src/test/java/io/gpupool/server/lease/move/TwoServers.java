// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.state.LocalStore;
import java.util.List;

/** The control planes of two servers of a pool: a has one GPU, b one alike and another one. */
final class TwoServers {
  static final long GIB = 1L << 30;
  static final LeaseLimits RESUMABLE = new LeaseLimits(0, 0, 0, 60_000);
  static final Principal USER = new Principal("blue", Role.USER, null);

  final ManualTimers timers = new ManualTimers();
  final Gpu first = PlacementTest.gpu("a", 0, 8 * GIB);
  final Gpu second = PlacementTest.gpu("b", 0, 8 * GIB);
  final Ground a;
  final Ground b;
  private final LocalStore store = LocalStore.inMemory();

  TwoServers() throws Exception {
    Gpu other = new Gpu("b", 1, "b1", new GpuModel("NVIDIA L4", 8 * GIB, "8.9", 13000));
    a = new Ground(store, timers, "a", List.of(first));
    b = new Ground(store, timers, "b", List.of(second, other));
    a.come();
    b.come();
    timers.pass(1000);
    a.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
  }

  /** Has another server come, with a GPU of its own. */
  void come(String server, GpuModel model) throws Exception {
    new Ground(store, timers, server, List.of(new Gpu(server, 0, server + "0", model))).come();
    timers.pass(1000);
  }

  /** Makes the requests for moves at a server of some version of gpupool. */
  LeaseMoves moves(String version) {
    return moves(new ServerKinds.Kind("soft", version, true));
  }

  /** Makes the requests for moves at a server of some kind. */
  LeaseMoves moves(ServerKinds.Kind own) {
    return new LeaseMoves(a.store, a.leases, a.capacity, timers, own);
  }

  /** Grants a lease on the first GPU, or on whichever there are if it has several. */
  Lease grant(LeaseSpec spec) throws Exception {
    Outcome.Placed placed =
        (Outcome.Placed)
            Placement.place(
                spec.requirements(),
                "blue",
                a.capacity.snapshot().stream()
                    .filter(offer -> spec.requirements().gpus() > 1 || offer.gpu().equals(first))
                    .toList());
    return a.grant(spec, placed.parts()).lease();
  }
}
