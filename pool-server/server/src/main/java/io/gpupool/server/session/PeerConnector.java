// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.RandomHex;
import io.gpupool.runtime.Timers;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.stream.CallStream;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * A connector of the workers of programs whose GPUs are on several servers. Of two workers, the one
 * with the later place in the lease asks its server, which connects to the other's server and shows
 * the peer key of the session there; each worker gets its end. A worker whose session outlives its
 * connection may ask again. Owned by the control thread.
 */
final class PeerConnector {
  private static final Logger LOG = LoggerFactory.getLogger(PeerConnector.class);

  /** How long another server may take for a connection that can be tried again. */
  static final long DIAL_LIMIT_MILLIS = 5000;

  private static final int RANDOM_BYTES = 32;

  private final ServerDialer dialer;
  private final Timers timers;
  private final Executor control;
  private final SecureRandom random = new SecureRandom();

  PeerConnector(ServerDialer dialer, Timers timers, Executor control) {
    this.dialer = dialer;
    this.timers = timers;
    this.control = control;
  }

  /** Does what a worker asks for: {@code type=peer}. */
  void ask(Session session, TextMessage message) {
    OptionalInt link = link(message);
    if (link.isEmpty()) {
      LOG.warn("lease {} session {}: {}", session.lease().id(), session.id().brief(), message);
      return;
    }
    Optional<String> wrong = rejectionReason(session, link.getAsInt(), false);
    if (wrong.isPresent()) {
      session.worker().peerFailed(link.getAsInt(), wrong.get(), false);
      return;
    }
    ClientHello hello;
    try {
      hello = hello(session, message);
    } catch (WireException | IllegalArgumentException e) {
      session
          .worker()
          .peerFailed(link.getAsInt(), "the request has a wrong form: " + e.getMessage(), false);
      return;
    }
    if (session.peers().isExcessive(link.getAsInt(), timers.nowNanos())) {
      session.worker().peerFailed(link.getAsInt(), excess(link.getAsInt()), true);
    } else {
      dial(session, link.getAsInt(), hello);
    }
  }

  private void dial(Session session, int link, ClientHello hello) {
    if (session.peers().contains(link)) {
      LOG.debug(
          "lease {} session {}: connecting with the program's worker at {} again",
          session.lease().id(),
          session.id().brief(),
          server(session, link));
    }
    session.peers().note(link, timers.nowNanos());
    long number = session.peers().begin(link);
    Timers.Cancellable limit =
        session.canResume()
            ? timers.after(
                DIAL_LIMIT_MILLIS,
                () -> failed(session, link, number, new IOException("it does not answer")))
            : () -> {};
    dialer
        .dial(server(session, link), hello, session.canResume())
        .whenComplete((stream, failure) ->
            control.execute(() -> {
              limit.cancel();
              if (failure != null) {
                failed(session, link, number, failure);
              } else if (session.peers().finish(link, number)) {
                hand(session, link, stream);
              } else {
                Detaching.closeQuietly(stream);
              }
            }));
  }

  /** Lets another server's worker in, which has shown the session's peer key. */
  void accept(Session session, ClientHello hello, CallStream stream, int version) {
    session.whenJoined(() -> acceptNow(session, hello, stream, version));
  }

  private void acceptNow(Session session, ClientHello hello, CallStream stream, int version) {
    int link = hello.peerLink().orElseThrow();
    Optional<String> wrong =
        session.isServed()
            ? rejectionReason(session, link, true)
            : Optional.of("its program has not connected");
    if (wrong.isPresent()) {
      stream.refuse(ServerHello.refused(ServerHello.BAD_SESSION, wrong.get()));
      return;
    }
    if (session.peers().isExcessive(link, timers.nowNanos())) {
      stream.refuse(ServerHello.refused(ServerHello.BUSY, excess(link)));
      return;
    }
    session.peers().note(link, timers.nowNanos());
    stream
        .accept(ServerHello.accepted(version), session.canResume())
        .whenComplete((taken, failure) ->
            control.execute(() -> {
              if (failure == null) {
                // The worker finds out by itself which of several connections is the right one.
                hand(session, link, taken);
              } else if (!session.canResume()) {
                session.end("a connection of its own broke: " + failure.getMessage());
              }
            }));
  }

  /** Why a session has no connection with this place of its lease, from there or to there. */
  private static Optional<String> rejectionReason(Session session, int link, boolean fromThere) {
    LeaseTopology topology = session.lease().topology();
    int own = Objects.requireNonNull(topology.place());
    if (link < 0 || link >= topology.servers().size() || (fromThere ? link <= own : link >= own)) {
      return Optional.of(
          "link "
              + link
              + (fromThere ? " cannot connect to" : " cannot be asked for by")
              + " link "
              + own
              + " of "
              + topology.servers().size());
    }
    if (session.peers().contains(link) && !session.canResume()) {
      return Optional.of("link " + link + " has been connected already");
    }
    return Optional.empty();
  }

  private static String excess(int link) {
    return "link "
        + link
        + " was connected "
        + PeerAttempts.MAX_RECENT
        + " times within "
        + PeerAttempts.RECENT_MILLIS / 1000
        + " s";
  }

  private void hand(Session session, int link, FileDescriptor stream) {
    if (session.isServed()) {
      session.worker().peer(link, RandomHex.of(random, RANDOM_BYTES), stream);
    } else {
      Detaching.closeQuietly(stream);
    }
  }

  private static void failed(Session session, int link, long number, Throwable failure) {
    if (!session.peers().finish(link, number)) {
      return;
    }
    Throwable cause = ServerDialer.cause(failure);
    boolean again = session.canResume() && ServerDialer.isTemporary(cause);
    LOG.atLevel(again ? Level.INFO : Level.WARN)
        .log(
            "lease {} session {}: no connection to the program's worker at {}: {}",
            session.lease().id(),
            session.id().brief(),
            server(session, link),
            cause.getMessage());
    if (session.isServed()) {
      String why = "server " + server(session, link) + ": " + cause.getMessage();
      session.worker().peerFailed(link, why, again);
    }
  }

  private static String server(Session session, int link) {
    return session.lease().topology().servers().get(link);
  }

  private static ClientHello hello(Session session, TextMessage message) throws WireException {
    byte[] id = HexFormat.of().parseHex(message.get("session").orElse(""));
    byte[] key = HexFormat.of().parseHex(message.get("key").orElse(""));
    return new ClientHello(
        Versions.CALL_STREAM_MIN,
        Versions.CALL_STREAM_MAX,
        Objects.requireNonNull(session.lease().topology().place()),
        SessionId.ofBytes(id),
        SessionKey.ofBytes(key));
  }

  private static OptionalInt link(TextMessage message) {
    try {
      return OptionalInt.of(Integer.parseInt(message.get("link").orElse("")));
    } catch (NumberFormatException e) {
      return OptionalInt.empty();
    }
  }
}
