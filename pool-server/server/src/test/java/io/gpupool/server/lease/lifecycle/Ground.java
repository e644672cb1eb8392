// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Membership;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.PeerServerMonitor;
import io.gpupool.server.lease.cluster.Reconciler;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.move.Defragmenter;
import io.gpupool.server.lease.move.LeaseMoves;
import io.gpupool.server.lease.move.ServerKinds;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.store.NewLease;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.lease.usage.GpuScheduleTableTest;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEndpoint;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.Tenants;
import io.gpupool.server.tenant.Tokens;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A server's control plane without its ports and workers, on a clock of the test's. */
public final class Ground {
  public static final HolderName HOLDER = new HolderName("box", 123, "python", "ann");

  public final ManualTimers timers;
  public final RecordStore records;
  public final Audit audit;
  public final Capacity capacity;
  public final Tenants tenants;
  public final Tokens tokens;
  public final Partitions partitions;
  public final LeaseStore store;
  public final LeaseService leases;
  public final LeaseFinder finder;
  public final Defragmenter defragmenter;
  public final LeaseQueue queue;
  public final Drains drains;
  public final @Nullable Membership membership;
  private final RoomSignal room;
  private final Reconciler reconciler;
  private final String server;
  private boolean dead;
  private int given;

  /** On a state of its own, in memory. */
  public Ground(List<Gpu> gpus) {
    this(LocalStore.inMemory(), new ManualTimers(), gpus, "host:7642");
  }

  public Ground(StateStore state, ManualTimers timers, List<Gpu> gpus, String server) {
    this(state, timers, gpus, server, false);
  }

  /** One of several servers over the same state. */
  public Ground(StateStore state, ManualTimers timers, String server, List<Gpu> gpus) {
    this(state, timers, gpus, server, true);
  }

  private Ground(
      StateStore state, ManualTimers timers, List<Gpu> gpus, String server, boolean shared) {
    this.timers = timers;
    this.server = server;
    Timers own = new Mortal(timers);
    try {
      records = new RecordStore(state, RecordTypes.ALL);
    } catch (StateException e) {
      throw new AssertionError(e);
    }
    membership = shared ? new Membership(records, server, gpus) : null;
    audit = new Audit(records, timers, server);
    capacity = membership != null ? new Capacity(membership, records) : new Capacity(gpus, records);
    tenants = new Tenants(records, audit, timers);
    tokens = new Tokens(records, audit, timers, true);
    partitions = new Partitions(records, audit, capacity);
    store = new LeaseStore(records, audit, capacity.members(), timers, server);
    PeerServerMonitor peers = new PeerServerMonitor(records, capacity.members(), own);
    room = new RoomSignal();
    leases =
        new LeaseService(
            store, capacity, own, GpuScheduleTableTest.table(gpus.size()), room, peers::noteWork);
    finder = new LeaseFinder(leases, store, capacity.members(), own);
    LeaseMoves moves =
        new LeaseMoves(store, leases, capacity, own, new ServerKinds.Kind("soft", "1", true));
    defragmenter = new Defragmenter(moves, store.moves(), capacity, own);
    queue =
        new LeaseQueue(
            leases,
            finder,
            capacity,
            tenants,
            own,
            QueueLimits.DEFAULT,
            Optional.ofNullable(membership)
                .map(m -> new QueueStore(records, m, server, own))
                .orElse(null),
            defragmenter);
    room.whenFreed(queue::dispatch);
    drains = new Drains(records, audit, capacity, leases, queue, own, server);
    reconciler =
        new Reconciler(
            records,
            store,
            Objects.requireNonNullElseGet(membership, () -> new Membership(records, server, gpus)),
            leases,
            queue,
            peers,
            own,
            () ->
                new ServerEntry(
                    server,
                    new ServerEndpoint(server + ":7642", 7641, false),
                    "1",
                    "soft",
                    gpus,
                    0,
                    false,
                    true));
  }

  /** Updates of leases, on a server that shares its GPUs through MPS or does not. */
  public LeaseUpdates updates(boolean mps) {
    return new LeaseUpdates(leases, finder, room, records, audit, capacity, mps);
  }

  /** Grants a lease whose holder has not come yet. */
  public GrantedLease grant(LeaseSpec spec, List<Part> parts) throws IOException, RefusedException {
    GrantedLease granted =
        leases.grant(spec, parts, LeaseSecret.random(new SecureRandom()), reason -> {}, null);
    dropHolds(granted.lease());
    return granted;
  }

  /** Makes a lease one whose holder has not come yet, which nobody notices. */
  public static void dropHolds(Lease lease) {
    lease.removeHolds();
  }

  /** The holds of a lease. */
  public static List<LeaseHold> holds(Lease lease) {
    List<LeaseHold> holds = lease.removeHolds();
    holds.forEach(lease::add);
    return holds;
  }

  /** Does nothing any more once its server is dead. */
  private final class Mortal implements Timers {
    private final Timers timers;

    Mortal(Timers timers) {
      this.timers = timers;
    }

    @Override
    public long nowNanos() {
      return timers.nowNanos();
    }

    @Override
    public long wallMillis() {
      return timers.wallMillis();
    }

    @Override
    public Cancellable after(long delayMillis, Runnable task) {
      return timers.after(
          delayMillis,
          () -> {
            if (!dead) {
              task.run();
            }
          });
    }
  }

  /** Comes into the pool. */
  public void come() {
    reconciler.start(Runnable::run);
  }

  /** Ends as if killed, and is given up. */
  public void die() {
    dead = true;
    loseRecord();
  }

  /** Ends as if killed, which nobody has noticed yet. */
  public void killed() {
    dead = true;
  }

  /** Is given up by those that keep the state. */
  public void loseRecord() {
    try {
      records.update(transaction -> {
        transaction.delete(RecordTypes.SERVERS, server);
      });
    } catch (StateException e) {
      throw new AssertionError(e);
    }
  }

  /** Takes these parts as a lease of nobody's would. */
  public LeaseId take(List<Part> parts) {
    LeaseId id = new LeaseId("T" + ++given);
    LeaseSpec request =
        request(new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of()), "");
    try {
      store.grant(
          List.of(
              new NewLease(
                  id,
                  store.record(request, LeaseSecret.random(new SecureRandom()).hash(), parts),
                  parts,
                  Principal.ANYONE,
                  null,
                  server)));
    } catch (StateException | RefusedException e) {
      throw new AssertionError(e);
    }
    return id;
  }

  public void giveBack(LeaseId id) {
    try {
      store.free(id, s -> true, "given back");
    } catch (StateException e) {
      throw new AssertionError(e);
    }
  }

  public static LeaseSpec request(GpuRequirements requirements, String tenant) {
    return new LeaseSpec(requirements, 0, 0, HOLDER, Principal.ANYONE, tenant);
  }
}
