// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.records.Drain;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The drains of the pool's servers. A drain that an admin asked for lasts over restarts; that of a
 * server that is about to end goes with it. Each server ends its own leases when their deadline has
 * come, whichever server was asked to drain it. Owned by the control thread.
 */
public final class Drains {
  private static final long MAX_DEADLINE_MILLIS = 365L * 24 * 3600 * 1000;
  private static final long LOOK_MILLIS = 20;

  /** The states of a server, as far as new leases are concerned. */
  public enum State {
    READY,
    /** The server grants no more leases, and has some. */
    DRAINING,
    /** The server grants no more leases, and has none. */
    DRAINED,
    STOPPING
  }

  /** Servers named to a caller that names none of them. */
  private static final int MOST_NAMED = 8;

  private static final Logger LOG = LoggerFactory.getLogger(Drains.class);

  private final RecordStore records;
  private final Audit audit;
  private final Capacity capacity;
  private final LeaseService leases;
  private final LeaseQueue queue;
  private final Timers timers;
  private final String server;
  private Timers.@Nullable Cancellable eviction;
  private boolean stopping;

  public Drains(
      RecordStore records,
      Audit audit,
      Capacity capacity,
      LeaseService leases,
      LeaseQueue queue,
      Timers timers,
      String server) {
    this.records = records;
    this.audit = audit;
    this.capacity = capacity;
    this.leases = leases;
    this.queue = queue;
    this.timers = timers;
    this.server = server;
  }

  /** Applies the drains there are, and those that come. */
  public void start() {
    records.whenChanged(RecordTypes.DRAINS, () -> timers.after(0, this::applyDrain));
    applyDrain();
  }

  /**
   * Has a server grant nothing more.
   *
   * @param deadlineMillis when its leases are ended, from now on; null: not at all
   * @param move whether it moves its leases to other servers until then
   */
  public void drain(Principal principal, String name, @Nullable Long deadlineMillis, boolean move)
      throws RefusedException, StateException {
    requireKnown(name);
    if (deadlineMillis != null && (deadlineMillis < 0 || deadlineMillis > MAX_DEADLINE_MILLIS)) {
      throw new RefusedException(
          RefusedException.Why.INVALID, "the deadline is over a year from now");
    }
    long nowMillis = timers.wallMillis();
    Long deadlineAtMillis = deadlineMillis != null ? nowMillis + deadlineMillis : null;
    records.update(transaction -> {
      Optional<Drain> before = transaction.get(RecordTypes.DRAINS, name);
      long sinceMillis = before.map(Drain::sinceMillis).orElse(nowMillis);
      Drain drain =
          new Drain(
              principal.text(),
              sinceMillis,
              deadlineAtMillis,
              false,
              move,
              move ? before.map(Drain::leases).orElse(List.of()) : List.of());
      drain.put(transaction, name);
      audit.note(transaction, principal, "server.drain", name, detail(deadlineAtMillis, move));
    });
  }

  private static String detail(@Nullable Long deadlineAtMillis, boolean move) {
    List<String> details = new ArrayList<>();
    if (move) {
      details.add("its leases move to other servers");
    }
    if (deadlineAtMillis != null) {
      details.add("its leases may go on until " + Instant.ofEpochMilli(deadlineAtMillis));
    }
    return String.join("; ", details);
  }

  /** Has a server grant again. */
  public void uncordon(Principal principal, String name) throws RefusedException, StateException {
    requireKnown(name);
    records.update(transaction -> {
      if (transaction.get(RecordTypes.DRAINS, name).isPresent()) {
        transaction.delete(RecordTypes.DRAINS, name);
        audit.note(transaction, principal, "server.uncordon", name, "");
      }
    });
  }

  /**
   * Has this server grant nothing more, as it is about to end. An admin's drain of it goes on, and
   * sooner if need be.
   *
   * @param move whether it moves its leases to other servers
   * @param deadlineAtMillis when leases that are left are ended, since 1970; null: not by this
   * @param whenEmpty runs once no lease is left
   */
  public void stop(boolean move, @Nullable Long deadlineAtMillis, Runnable whenEmpty) {
    stopping = true;
    queue.stopGranting("the server is stopping");
    leases.redirectRemoteHolders();
    try {
      records.update(transaction -> {
        Optional<Drain> before = transaction.get(RecordTypes.DRAINS, server);
        before
            .orElseGet(() ->
                new Drain(Principal.POOL.text(), timers.wallMillis(), null, true, move, List.of()))
            .hastened(move, deadlineAtMillis)
            .put(transaction, server);
      });
    } catch (StateException e) {
      LOG.warn("cannot record that this server is stopping: {}", e.getMessage());
    }
    awaitEmpty(whenEmpty);
  }

  /** Refuses all requests and ends all leases, as the server closes. */
  public void endAll() {
    queue.stopGranting("the server is stopping");
    leases.endAll("the server is stopping");
  }

  /** Leaves all leases on this server as they are to its next process. */
  public void leave() {
    queue.stopGranting("the server is restarting");
    leases.leave();
  }

  /** The drain of a server. */
  public Optional<Drain> of(String name) {
    return records.get(RecordTypes.DRAINS, name).map(Versioned::value);
  }

  public boolean isStopping() {
    return stopping;
  }

  /** Returns the state of a server of this name. */
  public State state(String name) {
    if (stopping && name.equals(server)) {
      return State.STOPPING;
    }
    Optional<Drain> drain = of(name);
    if (drain.isEmpty()) {
      return State.READY;
    }
    if (drain.get().stopping()) {
      return State.STOPPING;
    }
    return capacity.isLeased(name) ? State.DRAINING : State.DRAINED;
  }

  private void awaitEmpty(Runnable whenEmpty) {
    // Holders of leases that have moved may have come back here.
    if (leases.all().stream().allMatch(Lease::isRemote) && !hasMoveToClear()) {
      whenEmpty.run();
    } else {
      timers.after(LOOK_MILLIS, () -> awaitEmpty(whenEmpty));
    }
  }

  /** Whether leases that have moved still have something of this server's GPUs. */
  private boolean hasMoveToClear() {
    return of(server).filter(Drain::move).isPresent() && capacity.isLeased(server);
  }

  private void applyDrain() {
    if (eviction != null) {
      eviction.cancel();
    }
    eviction =
        of(server)
            .map(Drain::deadlineAtMillis)
            .map(at -> timers.after(Math.max(0, at - timers.wallMillis()), this::evict))
            .orElse(null);
    queue.dispatch();
  }

  private void evict() {
    String by = of(server).map(Drain::actor).orElse("");
    List<Lease> left =
        leases.all().stream()
            .filter(lease -> lease.state().isAlive())
            .filter(lease ->
                lease.parts().stream().anyMatch(part -> part.gpu().server().equals(server)))
            .toList();
    LOG.info("the time to drain is over: {} leases are ended", left.size());
    left.forEach(lease ->
        leases.end(lease, "server " + server + " is drained (by " + by + "), and time is up"));
  }

  private void requireKnown(String name) throws RefusedException {
    if (!name.equals(server)
        && capacity.gpus().stream().noneMatch(gpu -> gpu.server().equals(name))) {
      throw new RefusedException(
          RefusedException.Why.NOT_FOUND,
          "there is no server '"
              + HolderName.plain(name)
              + "'; the pool has "
              + capacity.gpus().stream()
                  .map(Gpu::server)
                  .distinct()
                  .limit(MOST_NAMED)
                  .collect(Collectors.joining(", ")));
    }
  }
}
