// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.state.StateException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One move of a lease to a GPU of this server: the lease that is not this server's yet, and the
 * sessions that have come. Owned by the control thread.
 */
final class Arrival {
  private static final Logger LOG = LoggerFactory.getLogger(Arrival.class);

  private final Lease lease;
  private final MoveRecord move;
  private final Sessions sessions;
  private final LeaseService leases;
  private final Executor control;
  private final Runnable onGone;
  private final Map<SessionId, ArrivingSession> arriving = new LinkedHashMap<>();
  private boolean isGivenUp;

  /**
   * Waits for sessions.
   *
   * @param onGone runs once nothing of a move that was given up is alive
   */
  Arrival(
      Lease lease,
      MoveRecord move,
      Sessions sessions,
      LeaseService leases,
      Executor control,
      Runnable onGone) {
    this.lease = lease;
    this.move = move;
    this.sessions = sessions;
    this.leases = leases;
    this.control = control;
    this.onGone = onGone;
  }

  boolean isOf(MoveRecord record) {
    return record.id().equals(move.id());
  }

  boolean contains(SessionId session) {
    return arriving.containsKey(session);
  }

  /** Lets a session in; its worker restores it. */
  void accept(MovingSession moving, CallStream stream, int version) throws InvalidRequestException {
    SessionId id = moving.keys().id();
    if (isGivenUp || arriving.containsKey(id)) {
      stream.refuse(ServerHello.refused(ServerHello.BAD_SESSION, "the session has come already"));
      return;
    }
    Session session = sessions.expect(lease, moving, () -> gone(id));
    ArrivingSession arrival =
        new ArrivingSession(session, stream, control, () -> {}, reason -> fail(session, reason));
    arriving.put(id, arrival);
    arrival.begin(sessions.starts(), version);
  }

  private void fail(Session session, String reason) {
    LOG.info("lease {} session {} does not arrive: {}", lease.id(), session.id().brief(), reason);
    try {
      leases
          .store()
          .moves()
          .fail(
              lease.id(),
              move.id(),
              session.client() + " cannot move to " + leases.store().server() + ": " + reason);
    } catch (StateException e) {
      LOG.debug("the source's server notices by itself: {}", e.getMessage());
    }
  }

  private void gone(SessionId id) {
    ArrivingSession dead = arriving.remove(id);
    if (dead != null && !isGivenUp) {
      dead.failed("its worker has died");
    }
    endIfGone();
  }

  /** Ends what has come; the lease stays where it is. */
  void giveUp(String reason) {
    if (!isGivenUp) {
      isGivenUp = true;
      List.copyOf(arriving.values()).forEach(session -> session.end(reason));
      endIfGone();
    }
  }

  private void endIfGone() {
    if (isGivenUp && arriving.isEmpty()) {
      leases.unexpect(lease);
      onGone.run();
    }
  }

  /** The lease is this server's: its sessions go on here. */
  void complete(MoveRecord committed) {
    List<ArrivingSession> all = List.copyOf(arriving.values());
    arriving.clear();
    for (ArrivingSession session : all) {
      if (committed.sessions().contains(session.id().toString())) {
        session.complete(sessions, "its lease was moved");
      } else {
        session.end("its program has left meanwhile");
      }
    }
  }
}
