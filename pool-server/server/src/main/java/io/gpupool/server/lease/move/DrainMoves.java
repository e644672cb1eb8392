// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.Drain;
import io.gpupool.server.records.DrainedLease;
import io.gpupool.server.records.DrainedLease.Place;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The moves of this server's leases to other servers while it drains, one at a time. Goes by the
 * records of drains and moves, after each change and once a second. Owned by the control thread.
 */
public final class DrainMoves {
  private static final long LOOK_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(DrainMoves.class);

  private final RecordStore records;
  private final LeaseStore store;
  private final LeaseMoves moves;
  private final Capacity capacity;
  private final Timers timers;
  private final Map<LeaseId, MoveAttempts> attempts = new HashMap<>();
  private Timers.Cancellable nextLook = () -> {};

  public DrainMoves(
      RecordStore records, LeaseStore store, LeaseMoves moves, Capacity capacity, Timers timers) {
    this.records = records;
    this.store = store;
    this.moves = moves;
    this.capacity = capacity;
    this.timers = timers;
  }

  /** Goes by the records from now on. */
  public void start() {
    records.whenChanged(RecordTypes.DRAINS, () -> timers.after(0, this::look));
    store.moves().whenChanged(() -> timers.after(0, this::look));
    look();
  }

  private Optional<Drain> drain() {
    return records
        .get(RecordTypes.DRAINS, store.server())
        .map(Versioned::value)
        .filter(Drain::move);
  }

  private void look() {
    nextLook.cancel();
    Optional<Drain> drain = drain();
    if (drain.isEmpty()) {
      attempts.clear();
      return;
    }
    Long atMillis = drain.get().deadlineAtMillis();
    long leftMillis = atMillis != null ? atMillis - timers.wallMillis() : Long.MAX_VALUE;
    if (leftMillis <= 0) {
      tell(drain.get(), whenTimeIsUp(drain.get()));
    } else {
      nextLook = timers.after(Math.min(leftMillis, LOOK_MILLIS), this::look);
      tell(drain.get(), goOn(drain.get()));
    }
  }

  /** Begins the next move unless one is under way. Returns what is to be told of the leases. */
  private Map<LeaseId, DrainedLease> goOn(Drain drain) {
    Map<LeaseId, GrantRecord> own = own();
    attempts.keySet().retainAll(own.keySet());
    Map<LeaseId, DrainedLease> leases = new LinkedHashMap<>();
    for (DrainedLease told : drain.leases()) {
      if (!own.containsKey(told.id())) {
        moved(told).ifPresent(moved -> leases.put(told.id(), moved));
      }
    }
    own.forEach((id, grant) -> leases.put(id, lease(id, grant)));
    if (leases.values().stream().noneMatch(of -> of.state() == DrainedLease.State.MOVING)) {
      beginNext(leases);
    }
    return leases;
  }

  private Map<LeaseId, DrainedLease> whenTimeIsUp(Drain drain) {
    Map<LeaseId, DrainedLease> leases = new LinkedHashMap<>();
    drain.leases().forEach(told -> leases.put(told.id(), told));
    own().keySet().forEach(id -> leases.putIfAbsent(id, DrainedLease.waiting(id, "")));
    leases.replaceAll((id, told) -> moved(told).orElseGet(() -> stays(told)));
    return leases;
  }

  private static DrainedLease stays(DrainedLease told) {
    if (!told.isPending()) {
      return told;
    }
    String reason =
        told.state() == DrainedLease.State.MOVING
            ? "time was up while it moved"
            : "time was up" + (told.reason().isEmpty() ? "" : ": " + told.reason());
    return DrainedLease.stays(told.id(), reason);
  }

  /** This server's leases, the first to move first. */
  private Map<LeaseId, GrantRecord> own() {
    Map<LeaseId, GrantRecord> found = new HashMap<>();
    store.forEach((id, grant) -> {
      if (!grant.isEnding() && grant.isOn(store.server())) {
        found.put(id, grant);
      }
    });
    Map<LeaseId, GrantRecord> sorted = new LinkedHashMap<>();
    found.entrySet().stream()
        .sorted(Map.Entry.comparingByValue(GrantRecord.FIRST_TO_MOVE))
        .forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
    return sorted;
  }

  /** What is told of a lease that is not here any more, unless it has ended. */
  private Optional<DrainedLease> moved(DrainedLease told) {
    if (told.state() == DrainedLease.State.MOVED) {
      return Optional.of(told);
    }
    return store
        .moves()
        .get(told.id())
        .filter(move -> move.phase() == MoveRecord.Phase.MOVED)
        .filter(move -> move.source().server().equals(store.server()))
        .filter(move -> !move.target().gpu().server().equals(store.server()))
        .map(move ->
            DrainedLease.moved(
                told.id(),
                place(move.target().gpu()),
                TimeUnit.NANOSECONDS.toMillis(move.result().pauseNanos())));
  }

  private DrainedLease lease(LeaseId id, GrantRecord grant) {
    Optional<MoveRecord> move = store.moves().get(id);
    if (move.filter(MoveRecord::isPreparing).isPresent()) {
      return DrainedLease.moving(id, place(move.get().target().gpu()));
    }
    Optional<String> obstacle = moves.obstacle(id, grant);
    if (obstacle.isPresent()) {
      return DrainedLease.stays(id, obstacle.get());
    }
    MoveAttempts attempt =
        attempts.computeIfAbsent(id, _ -> new MoveAttempts(move.map(MoveRecord::id).orElse("")));
    move.filter(of -> of.phase() == MoveRecord.Phase.FAILED)
        .ifPresent(of -> attempt.noteFailure(of.id(), of.result().reason(), timers.nowNanos()));
    return DrainedLease.waiting(id, attempt.reason());
  }

  /** Begins to move the first lease that can move now. */
  private void beginNext(Map<LeaseId, DrainedLease> leases) {
    for (DrainedLease lease : List.copyOf(leases.values())) {
      LeaseId id = lease.id();
      MoveAttempts attempt = attempts.get(id);
      if (lease.state() != DrainedLease.State.WAITING
          || attempt == null
          || !attempt.isDue(timers.nowNanos())
          || store.moves().get(id).filter(MoveRecord::isUnderWay).isPresent()) {
        continue;
      }
      try {
        LeaseMoves.Begun begun = moves.beginElsewhere(id);
        leases.put(id, DrainedLease.moving(id, place(GpuKey.of(begun.to().gpu()))));
        return;
      } catch (RefusedException e) {
        String reason = Optional.ofNullable(e.getMessage()).orElse("");
        attempt.noteRefusal(reason, timers.nowNanos());
        leases.put(id, DrainedLease.waiting(id, reason));
      } catch (StateException e) {
        LOG.warn("cannot move lease {}: {}", id, e.getMessage());
        return;
      }
    }
  }

  private Place place(GpuKey key) {
    return new Place(key.server(), capacity.gpu(key).map(Gpu::ordinal).orElse(0));
  }

  /** Records what is new. */
  private void tell(Drain drain, Map<LeaseId, DrainedLease> leases) {
    List<DrainedLease> told = new ArrayList<>(leases.values());
    if (told.equals(drain.leases())) {
      return;
    }
    try {
      records.update(transaction -> {
        Optional<Drain> latest =
            transaction.get(RecordTypes.DRAINS, store.server()).filter(Drain::move);
        latest.ifPresent(of -> of.with(told).put(transaction, store.server()));
      });
    } catch (StateException e) {
      LOG.warn("cannot record what moves as this server drains: {}", e.getMessage());
      return;
    }
    told.stream().filter(lease -> !drain.leases().contains(lease)).forEach(DrainMoves::log);
  }

  private static void log(DrainedLease lease) {
    if (lease.state() == DrainedLease.State.MOVED && lease.to() != null) {
      LOG.info(
          "lease {} has moved to {}/{}, with a pause of {} ms",
          lease.id(),
          lease.to().server(),
          lease.to().ordinal(),
          lease.pauseMillis());
    } else if (lease.state() == DrainedLease.State.STAYS) {
      LOG.info("lease {} stays as this server drains: {}", lease.id(), lease.reason());
    }
  }
}
