// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.history.UseHistory;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.IdleServerTracker;
import io.gpupool.server.lease.cluster.PeerServerMonitor;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.lifecycle.LeaseUpdates;
import io.gpupool.server.lease.lifecycle.RoomSignal;
import io.gpupool.server.lease.move.Defragmenter;
import io.gpupool.server.lease.move.DrainMoves;
import io.gpupool.server.lease.move.LeaseMoves;
import io.gpupool.server.lease.move.ServerKinds;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.lease.suspend.LeaseResumptions;
import io.gpupool.server.lease.suspend.LeaseSuspensions;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.wire.BuildVersion;
import java.io.IOException;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The leases of a server, the queue for them, and the watches over them. */
final class LeasePlane {
  private static final Logger LOG = LoggerFactory.getLogger(LeasePlane.class);

  private final LeaseStore store;
  private final PeerServerMonitor peers;
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final LeaseQueue queue;
  private final LeaseUpdates updates;
  private final LeaseMoves moves;
  private final LeaseSuspensions suspensions;
  private final LeaseResumptions resumptions;
  private final Drains drains;
  private final IdleServerTracker idleServers;
  private final UseHistory history;

  /**
   * Takes in the leases from before a restart.
   *
   * @param former what their sessions have left
   */
  LeasePlane(ServerContext context, PoolState state, FormerUsage former) throws IOException {
    ControlThread control = context.threads().control();
    RecordStore records = state.records();
    Capacity capacity = state.capacity();
    GpuScheduleTable times = openTimes(context, former);
    RoomSignal room = new RoomSignal();
    store = new LeaseStore(records, state.audit(), capacity.members(), control, context.name());
    peers = new PeerServerMonitor(records, capacity.members(), control);
    leases = new LeaseService(store, capacity, control, times, room, peers::noteWork);
    finder = new LeaseFinder(leases, store, capacity.members(), control);
    moves =
        new LeaseMoves(
            store,
            leases,
            capacity,
            control,
            new ServerKinds.Kind(
                context.served().backend(), BuildVersion.TEXT, context.served().isMovable()));
    Defragmenter defragmenter = new Defragmenter(moves, store.moves(), capacity, control);
    queue =
        new LeaseQueue(
            leases,
            finder,
            capacity,
            state.tenants(),
            control,
            context.options().limits().queue(),
            state
                .membership()
                .map(m -> new QueueStore(records, m, context.name(), control))
                .orElse(null),
            defragmenter);
    room.whenFreed(queue::dispatch);
    updates =
        new LeaseUpdates(
            leases, finder, room, records, state.audit(), capacity, context.served().isMps());
    suspensions = new LeaseSuspensions(store, control);
    resumptions = new LeaseResumptions(leases, queue, capacity, control);
    drains = new Drains(records, state.audit(), capacity, leases, queue, control, context.name());
    idleServers = new IdleServerTracker(capacity, control);
    records.whenChanged(RecordTypes.GRANTS, () -> control.execute(idleServers::note));
    records.whenChanged(RecordTypes.GPU_FAULTS, () -> control.execute(queue::dispatch));
    leases.restore(former);
    history = openHistory(context, leases);
    drains.start();
    new DrainMoves(records, store, moves, capacity, control).start();
    int movesPerHour = context.options().limits().movesPerHour();
    if (movesPerHour > 0) {
      defragmenter.start(queue, movesPerHour);
    }
  }

  private static GpuScheduleTable openTimes(ServerContext context, FormerUsage former)
      throws IOException {
    GpuScheduleTable times =
        GpuScheduleTable.of(context.served().gpus().size(), context.served().levels(), former);
    // Last of all, when no session is left that would be taken out of it.
    context
        .steps()
        .addLast(() -> {
          try {
            times.close();
          } catch (IOException e) {
            LOG.warn("cannot close the table of GPU times", e);
          }
        });
    return times;
  }

  private static UseHistory openHistory(ServerContext context, LeaseService leases) {
    ControlThread control = context.threads().control();
    Executor disk = context.threads().disk();
    UseHistory history =
        UseHistory.open(
            context.served().gpus(),
            leases,
            control,
            context.options().state().historyFolder().orElse(null),
            disk);
    control.execute(history::start);
    context
        .steps()
        .addAwaited(done ->
            control.execute(() -> {
              history.close();
              disk.execute(done);
            }));
    return history;
  }

  LeaseStore store() {
    return store;
  }

  PeerServerMonitor peers() {
    return peers;
  }

  LeaseService leases() {
    return leases;
  }

  LeaseFinder finder() {
    return finder;
  }

  LeaseQueue queue() {
    return queue;
  }

  LeaseUpdates updates() {
    return updates;
  }

  LeaseMoves moves() {
    return moves;
  }

  LeaseSuspensions suspensions() {
    return suspensions;
  }

  LeaseResumptions resumptions() {
    return resumptions;
  }

  Drains drains() {
    return drains;
  }

  IdleServerTracker idleServers() {
    return idleServers;
  }

  UseHistory history() {
    return history;
  }
}
