// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.state.StateException;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.netty.channel.unix.FileDescriptor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One move of a lease away from a GPU of this server. Connects each session's worker to one at the
 * target, and commits when all have moved. Owned by the control thread.
 */
final class Departure {
  /** How often it looks whether its sessions are ready to move, or have ended. */
  private static final long LOOK_MILLIS = 50;

  private static final long RETRY_MILLIS = 1000;

  /** How long it tries to reach the target, which may not know of the move yet. */
  private static final long CONNECT_LIMIT_MILLIS = 15_000;

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final Logger LOG = LoggerFactory.getLogger(Departure.class);

  private final Lease lease;
  private final MoveRecord move;
  private final SessionKey key;
  private final long targetSinceMillis;
  private final Surroundings with;
  private final MoveStore store;
  private final long beganNanos;
  private final Map<Session, Leg> legs = new HashMap<>();
  private Timers.Cancellable timer = () -> {};

  /** Why it has failed, until that is recorded; null: it has not. */
  private @Nullable String failure;

  private boolean isOver;

  /**
   * What the moves of a server have in common.
   *
   * @param onOver runs once, when this one is over
   */
  record Surroundings(
      Sessions sessions,
      LeaseService leases,
      WorkerDialer dialer,
      Timers timers,
      Executor control,
      Runnable onOver) {}

  /** The move of one session. */
  private static final class Leg {
    private boolean isHanded;
    private boolean hasMoved;
    private long bytes;
    private long pauseNanos;
  }

  Departure(
      Lease lease, MoveRecord move, SessionKey key, long targetSinceMillis, Surroundings with) {
    this.lease = lease;
    this.move = move;
    this.key = key;
    this.targetSinceMillis = targetSinceMillis;
    this.with = with;
    store = with.leases().store().moves();
    beganNanos = with.timers().nowNanos();
  }

  /** Makes the message that ends the move of a session for its worker here. */
  static TextMessage end(String move, boolean gone) {
    return TextMessage.ofType("moveEnd").put("move", move).put("gone", gone ? 1 : 0).build();
  }

  private String server() {
    return move.target().gpu().server();
  }

  /** Does what can be done now, and looks again. */
  void proceed() {
    if (isOver) {
      return;
    }
    timer.cancel();
    long pauseMillis = LOOK_MILLIS;
    try {
      step();
    } catch (StateException e) {
      // It is not known to have failed either: the sessions stand still until it is known.
      LOG.warn("the move of lease {} cannot be recorded yet: {}", lease.id(), e.getMessage());
      pauseMillis = RETRY_MILLIS;
    }
    if (!isOver) {
      timer.cancel();
      timer = with.timers().after(pauseMillis, this::proceed);
    }
  }

  private void step() throws StateException {
    checkFailure();
    if (failure != null) {
      store.fail(lease.id(), move.id(), failure);
      Optional<MoveRecord> record = store.get(lease.id()).filter(r -> r.id().equals(move.id()));
      if (record.filter(r -> r.phase() == MoveRecord.Phase.MOVED).isPresent()) {
        leave();
      } else {
        LOG.info("lease {} does not move: {}", lease.id(), failure);
        goOnHere();
      }
      return;
    }
    List<Session> open = with.sessions().of(lease);
    legs.keySet().retainAll(open);
    open.stream()
        .filter(session -> session.isServed() && !legs.containsKey(session))
        .forEach(this::connect);
    if (!isOver && failure == null && open.stream().allMatch(this::hasMoved)) {
      commit(open);
    }
  }

  private void checkFailure() {
    if (failure != null) {
      return;
    }
    if (!lease.state().isAlive()) {
      failure = "the lease has ended";
    } else if (with.timers().wallMillis() >= move.deadlineAtMillis()) {
      failure = "it was not over in time";
    } else if (!store.lives(server())) {
      failure = "server " + server() + " is gone";
    }
  }

  /** Returns whether a session can be committed; one that is ending is waited for. */
  private boolean hasMoved(Session session) {
    Leg leg = legs.get(session);
    return leg != null && leg.hasMoved && session.isServed();
  }

  private void connect(Session session) {
    Leg leg = new Leg();
    legs.put(session, leg);
    MovingSession moving = MovingSession.of(session, move.id(), with.timers());
    ClientHello hello =
        ClientHello.moving(
            Versions.CALL_STREAM_MIN,
            Versions.CALL_STREAM_MAX,
            session.id(),
            key,
            moving.message());
    with.dialer()
        .dial(server(), hello)
        .whenComplete((stream, refusal) ->
            with.control().execute(() -> connected(session, leg, stream, refusal)));
  }

  private void connected(
      Session session, Leg leg, @Nullable FileDescriptor stream, @Nullable Throwable refusal) {
    boolean isWanted = !isOver && failure == null && legs.get(session) == leg;
    if (stream != null) {
      if (isWanted && session.isServed()) {
        leg.isHanded = true;
        session.resumption().keepOpen(true, session::end);
        session.worker().send(TextMessage.ofType("move").put("move", move.id()).build(), stream);
      } else {
        Detaching.closeQuietly(stream);
      }
    } else if (isWanted && refusal != null) {
      refused(session, ServerDialer.cause(refusal));
    }
  }

  private void refused(Session session, Throwable refusal) {
    long passedMillis = (with.timers().nowNanos() - beganNanos) / NANOS_PER_MILLI;
    if (ServerDialer.isTemporary(refusal) && passedMillis < CONNECT_LIMIT_MILLIS) {
      LOG.debug("lease {} cannot move yet: {}", lease.id(), refusal.getMessage());
      legs.remove(session);
    } else {
      fail(session, String.valueOf(refusal.getMessage()));
    }
  }

  void onMessage(Session session, TextMessage message) {
    Leg leg = legs.get(session);
    if (isOver || leg == null || !message.get("move").equals(Optional.of(move.id()))) {
      return;
    }
    if (message.type().equals("moved")) {
      leg.hasMoved = true;
      leg.bytes = number(message, "bytes");
      leg.pauseNanos = number(message, "pauseNanos");
      proceed();
    } else {
      fail(session, HolderName.plain(message.get("reason").orElse("its worker does not move it")));
    }
  }

  static long number(TextMessage message, String key) {
    try {
      return Math.max(0, Long.parseLong(message.get(key).orElse("0")));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  private void fail(Session session, String reason) {
    if (failure == null) {
      failure = session.client() + " cannot move: " + reason;
    }
    proceed();
  }

  private void commit(List<Session> open) throws StateException {
    Optional<String> refusal =
        store.commit(
            lease.id(),
            move.id(),
            new MoveStore.Moved(
                open.stream().map(session -> session.id().toString()).toList(),
                legs.values().stream().mapToLong(leg -> leg.bytes).sum(),
                legs.values().stream().mapToLong(leg -> leg.pauseNanos).max().orElse(0)),
            targetSinceMillis);
    if (refusal.isPresent()) {
      failure = refusal.get();
      step();
    } else {
      leave();
    }
  }

  /** The lease has moved: nothing of it goes on here. */
  void leave() {
    if (isOver) {
      return;
    }
    end();
    count("moved");
    LOG.info("lease {} has moved to {} with {} sessions", lease.id(), server(), legs.size());
    for (Session session : with.sessions().of(lease)) {
      if (session.isServed()) {
        session.worker().send(end(move.id(), true));
      }
      session.leave("its lease has moved to " + server());
    }
    with.leases().checkPlace(lease.id());
    with.onOver().run();
  }

  /** The lease stays: its sessions go on here. */
  void goOnHere() {
    if (isOver) {
      return;
    }
    end();
    count("failed");
    legs.forEach((session, leg) -> {
      if (leg.isHanded && session.isServed()) {
        session.worker().send(end(move.id(), false));
        session.resumption().keepOpen(false, session::end);
      }
    });
    with.onOver().run();
  }

  private void count(String result) {
    with.leases().metrics().add(Metric.MOVES, 1, lease.tenant(), result);
  }

  private void end() {
    isOver = true;
    timer.cancel();
  }
}
