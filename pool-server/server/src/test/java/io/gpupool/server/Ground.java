// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.Placement.Part;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.StateStore;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** A server's control plane without its ports and workers, on a clock of the test's. */
final class Ground {
  static final HolderName HOLDER = new HolderName("box", 123, "python", "ann");

  final ManualTimers timers;
  final RecordStore records;
  final Audit audit;
  final Capacity capacity;
  final Tenants tenants;
  final Tokens tokens;
  final Partitions partitions;
  final Grants grants;
  final Leases leases;
  final LeaseQueue queue;
  final Drains drains;
  private int given;

  /** On a state of its own, in memory. */
  Ground(List<Gpu> gpus) {
    this(LocalStore.inMemory(), new ManualTimers(), gpus, "host:7642");
  }

  Ground(StateStore store, ManualTimers timers, List<Gpu> gpus, String server) {
    this.timers = timers;
    try {
      records = new RecordStore(store, Kinds.ALL);
    } catch (StateException e) {
      throw new AssertionError(e);
    }
    audit = new Audit(records, timers, server);
    capacity = new Capacity(gpus, records);
    tenants = new Tenants(records, audit, timers);
    tokens = new Tokens(records, audit, timers, true);
    partitions = new Partitions(records, audit, capacity);
    grants = new Grants(records, audit, timers, server);
    leases = new Leases(grants, capacity, timers, TimeTableTest.table(gpus.size()));
    queue = new LeaseQueue(leases, capacity, tenants, timers);
    drains = new Drains(records, audit, capacity, leases, queue, timers, server);
  }

  /** Takes these parts as a lease of nobody's would. */
  LeaseId take(List<Part> parts) {
    LeaseId id = new LeaseId("T" + ++given);
    Request request =
        request(new Ask(1, new Ask.Size.Fraction(1), OptionalInt.empty(), Map.of()), "");
    try {
      grants.add(
          id,
          grants.record(request, LeaseSecret.random(new SecureRandom()).hash(), parts),
          parts,
          Actor.ANYONE);
    } catch (StateException | RefusedException e) {
      throw new AssertionError(e);
    }
    return id;
  }

  void giveBack(LeaseId id) {
    try {
      grants.forget(id);
    } catch (StateException e) {
      throw new AssertionError(e);
    }
  }

  static Request request(Ask ask, String tenant) {
    return new Request(ask, 0, 0, HOLDER, Actor.ANYONE, tenant);
  }
}
