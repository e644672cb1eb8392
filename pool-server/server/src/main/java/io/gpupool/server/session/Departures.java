// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.state.StateException;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The moves of leases away from this server's GPUs, by what their records say. Owned by the control
 * thread.
 */
final class Departures {
  private static final Logger LOG = LoggerFactory.getLogger(Departures.class);

  private final Sessions sessions;
  private final LeaseService leases;
  private final MoveStore store;
  private final WorkerDialer dialer;
  private final Timers timers;
  private final Executor control;
  private final Runnable onOver;
  private final SecureRandom random = new SecureRandom();
  private final Map<LeaseId, Departure> underWay = new HashMap<>();

  /** Moves after which the workers of this server have been told what to do. */
  private final Set<String> settled = new HashSet<>();

  /**
   * Begins without any.
   *
   * @param onOver runs when a move is over
   */
  Departures(
      Sessions sessions,
      LeaseService leases,
      WorkerDialer dialer,
      Timers timers,
      Executor control,
      Runnable onOver) {
    this.sessions = sessions;
    this.leases = leases;
    this.dialer = dialer;
    this.timers = timers;
    this.control = control;
    this.onOver = onOver;
    store = leases.store().moves();
  }

  boolean isUnderWay(LeaseId id) {
    return underWay.containsKey(id);
  }

  /** Does what the record of a move asks this server for. */
  void reconcile(LeaseId id, MoveRecord move) {
    Departure known = underWay.get(id);
    switch (move.phase()) {
      case PREPARING -> {
        if (known == null) {
          begin(id, move);
        } else {
          known.proceed();
        }
      }
      case FAILED -> {
        if (known != null) {
          known.goOnHere();
        } else if (settled.add(move.id())) {
          leases.get(id).ifPresent(lease -> goOnHere(lease, move.id()));
        }
      }
      case MOVED -> {
        if (known != null) {
          known.leave();
        } else {
          leave(id, move);
        }
      }
    }
  }

  /** Forgets moves that are recorded no more. */
  void keep(Map<LeaseId, MoveRecord> recorded) {
    for (Map.Entry<LeaseId, Departure> departure : Map.copyOf(underWay).entrySet()) {
      if (!recorded.containsKey(departure.getKey())) {
        departure.getValue().goOnHere();
      }
    }
    settled.removeIf(
        move -> recorded.values().stream().noneMatch(record -> record.id().equals(move)));
  }

  private void begin(LeaseId id, MoveRecord move) {
    try {
      if (move.keyHash() != null) {
        store.fail(id, move.id(), "server " + move.source().server() + " was started anew");
        return;
      }
      leases.adopt(id);
      Optional<Lease> lease = leases.get(id).filter(found -> found.state().isAlive());
      if (lease.isEmpty()) {
        store.fail(id, move.id(), "the lease has ended");
        return;
      }
      SessionKey key = SessionKey.random(random);
      long targetSinceMillis = store.sinceMillis(move.target().gpu().server());
      if (store.prove(id, move.id(), hash(key))) {
        LOG.info("lease {} moves to {}", id, move.target().gpu().server());
        Departure departure =
            new Departure(
                lease.get(),
                move,
                key,
                targetSinceMillis,
                new Departure.Surroundings(
                    sessions, leases, dialer, timers, control, () -> over(id, move.id())));
        underWay.put(id, departure);
        departure.proceed();
      }
    } catch (StateException e) {
      LOG.debug("lease {} does not move yet: {}", id, e.getMessage());
    }
  }

  /** What the store knows of a move key. */
  static TokenHash hash(SessionKey key) {
    return TokenHash.of(HexFormat.of().formatHex(key.bytes()));
  }

  private void over(LeaseId id, String move) {
    underWay.remove(id);
    settled.add(move);
    onOver.run();
  }

  /** A former process of this server may have had the workers stand still. */
  private void goOnHere(Lease lease, String move) {
    sessions.of(lease).stream()
        .filter(Session::isServed)
        .forEach(session -> session.worker().send(Departure.end(move, false)));
  }

  /** Lets go of a lease that moved under a former process of this server, or under this one. */
  private void leave(LeaseId id, MoveRecord move) {
    leases.checkPlace(id);
    if (move.isUnderWay() && !leases.isLeaving(id)) {
      try {
        store.clear(id, move.source());
      } catch (StateException e) {
        LOG.debug("the former GPU of lease {} is not free yet: {}", id, e.getMessage());
      }
    }
  }

  void onMessage(Session session, TextMessage message) {
    Departure departure = underWay.get(session.lease().id());
    if (departure != null) {
      departure.onMessage(session, message);
    }
  }
}
