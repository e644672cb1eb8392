// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

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
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connector of the workers of programs whose GPUs are on several servers. Of two workers, the one
 * with the later place in the lease asks its server, which connects to the other's server and shows
 * the peer key of the session there; each worker gets its end. Owned by the control thread.
 */
final class PeerConnector {
  private static final Logger LOG = LoggerFactory.getLogger(PeerConnector.class);

  private final PeerDialer dialer;
  private final Executor control;

  PeerConnector(PeerDialer dialer, Executor control) {
    this.dialer = dialer;
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
      session.worker().peerFailed(link.getAsInt(), wrong.get());
      return;
    }
    ClientHello hello;
    try {
      hello = hello(session, message);
    } catch (WireException | IllegalArgumentException e) {
      session
          .worker()
          .peerFailed(link.getAsInt(), "the request has a wrong form: " + e.getMessage());
      return;
    }
    session.addPeer(link.getAsInt());
    dialer
        .dial(session.lease().topology().servers().get(link.getAsInt()), hello)
        .whenComplete((stream, failure) ->
            control.execute(() -> {
              if (failure == null) {
                hand(session, link.getAsInt(), stream);
              } else {
                failed(session, link.getAsInt(), failure);
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
    session.addPeer(link);
    stream
        .accept(ServerHello.accepted(version), false)
        .whenComplete((taken, failure) ->
            control.execute(() -> {
              if (failure == null) {
                hand(session, link, taken);
              } else {
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
    return session.hasPeer(link)
        ? Optional.of("link " + link + " has been connected already")
        : Optional.empty();
  }

  private static void hand(Session session, int link, FileDescriptor stream) {
    if (session.isServed()) {
      session.worker().peer(link, stream);
    } else {
      Detaching.closeQuietly(stream);
    }
  }

  private static void failed(Session session, int link, Throwable failure) {
    Throwable cause = failure.getCause();
    Throwable inner = failure instanceof CompletionException && cause != null ? cause : failure;
    String server = session.lease().topology().servers().get(link);
    LOG.warn(
        "lease {} session {}: no connection to the program's worker at {}: {}",
        session.lease().id(),
        session.id().brief(),
        server,
        inner.getMessage());
    if (session.isServed()) {
      session.worker().peerFailed(link, "server " + server + ": " + inner.getMessage());
    }
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
