// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.state.StateException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.WireException;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The moves of leases to GPUs of this server, by what their records say. Owned by the control
 * thread.
 */
final class Arrivals {
  /** How long the source's server has after the deadline, before this one ends the move. */
  private static final long SPARE_MILLIS = 5000;

  private static final ServerHello NOT_YET =
      ServerHello.refused(ServerHello.BUSY, "the move is not known here yet; try again");
  private static final Logger LOG = LoggerFactory.getLogger(Arrivals.class);

  private final Sessions sessions;
  private final LeaseService leases;
  private final MoveStore store;
  private final Timers timers;
  private final Executor control;
  private final Map<LeaseId, Arrival> underWay = new HashMap<>();

  Arrivals(Sessions sessions, LeaseService leases, Timers timers, Executor control) {
    this.sessions = sessions;
    this.leases = leases;
    this.timers = timers;
    this.control = control;
    store = leases.store().moves();
  }

  boolean contains(SessionId session) {
    return underWay.values().stream().anyMatch(arrival -> arrival.contains(session));
  }

  /** Does what the record of a move asks this server for. */
  void reconcile(LeaseId id, MoveRecord move) {
    Arrival known = underWay.get(id);
    if (known != null && !known.isOf(move)) {
      known.giveUp("the move was given up");
      return;
    }
    try {
      switch (move.phase()) {
        case PREPARING -> prepare(id, move, known);
        case FAILED -> {
          if (known != null) {
            known.giveUp("the move has failed: " + move.result().reason());
          } else if (move.isUnderWay()) {
            store.clear(id, move.target().gpu());
          }
        }
        case MOVED -> {
          if (known != null) {
            underWay.remove(id);
            leases.checkPlace(id);
            leases.adopt(id);
            known.complete(move);
          }
        }
      }
    } catch (StateException e) {
      LOG.debug("the move of lease {} is not recorded yet: {}", id, e.getMessage());
    }
  }

  /** Gives up moves that are recorded no more. */
  void keep(Map<LeaseId, MoveRecord> recorded) {
    for (Map.Entry<LeaseId, Arrival> arrival : Map.copyOf(underWay).entrySet()) {
      if (!recorded.containsKey(arrival.getKey())) {
        arrival.getValue().giveUp("the move was given up");
      }
    }
  }

  private void prepare(LeaseId id, MoveRecord move, @Nullable Arrival known) throws StateException {
    Optional<GrantRecord> grant =
        leases.store().get(id).filter(found -> !found.isEnding() && !found.parts().isEmpty());
    if (grant.isEmpty()) {
      store.fail(id, move.id(), "the lease has ended");
    } else if (timers.wallMillis() >= move.deadlineAtMillis() + SPARE_MILLIS) {
      store.fail(id, move.id(), "it was not over in time");
    } else if (known == null) {
      GrantRecord moved = grant.get().with(List.of(move.target()), grant.get().leaseClass());
      try {
        Lease lease = leases.expect(id, moved);
        underWay.put(id, new Arrival(lease, move, sessions, leases, control, () -> gone(id, move)));
      } catch (IOException e) {
        store.fail(
            id, move.id(), "server " + leases.store().server() + " cannot: " + e.getMessage());
      }
    }
  }

  /** Nothing of a move that was given up is alive here. */
  private void gone(LeaseId id, MoveRecord move) {
    underWay.remove(id);
    try {
      store.clear(id, move.target().gpu());
    } catch (StateException e) {
      LOG.debug("lease {} still has room here: {}", id, e.getMessage());
    }
  }

  /** Lets a session in that shows the key of its move. */
  void accept(ClientHello hello, CallStream stream, int version) {
    MovingSession moving;
    try {
      moving = MovingSession.of(Objects.requireNonNull(hello.message()));
    } catch (WireException e) {
      stream.refuse(ServerHello.refused(ServerHello.BAD_HANDSHAKE, String.valueOf(e.getMessage())));
      return;
    }
    Optional<MoveRecord> move =
        store
            .get(moving.lease())
            .filter(found -> found.id().equals(moving.move()) && found.keyHash() != null);
    Arrival arrival = underWay.get(moving.lease());
    if (move.isPresent() && !Departures.hash(hello.key()).equals(move.get().keyHash())) {
      LOG.warn("lease {} moves with another key; the connection is refused", moving.lease());
      stream.refuse(
          ServerHello.refused(ServerHello.BAD_SESSION, "no such move, or it has another key"));
    } else if (move.isEmpty() || arrival == null || !arrival.isOf(move.get())) {
      stream.refuse(NOT_YET);
    } else {
      try {
        arrival.accept(moving, stream, version);
      } catch (InvalidRequestException e) {
        stream.refuse(ServerHello.refused(ServerHello.BAD_SESSION, String.valueOf(e.getMessage())));
      }
    }
  }
}
