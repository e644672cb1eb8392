// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.ProgramLease;
import io.gpupool.client.OpenedSession;
import io.gpupool.client.StreamSeal;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.Relay;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.netty.buffer.ByteBuf;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The call streams of one program from their connections to the program, handed over to it or
 * relayed. Runs on the program's event loop.
 */
final class ProgramStreams {
  private static final Logger LOG = LoggerFactory.getLogger(ProgramStreams.class);

  private final EpollDomainSocketChannel program;
  private final boolean relay;
  private final AttachRequest.LeaseHandle handle;
  private final ProgramLease lease;
  private final List<OpenedSession> sessions;
  private final List<UnixChannel> connections;
  private final StreamGuard guard;

  /**
   * Takes connected call streams, which this closes if it fails.
   *
   * @param relay whether bytes are relayed although they need not be
   * @throws IOException if the process has no descriptors left
   */
  ProgramStreams(
      EpollDomainSocketChannel program,
      boolean relay,
      AttachRequest.LeaseHandle handle,
      ProgramLease lease,
      List<OpenedSession> sessions,
      List<UnixChannel> connections,
      StreamGuards guards)
      throws IOException {
    this.program = program;
    this.relay = relay;
    this.handle = handle;
    this.lease = lease;
    this.sessions = List.copyOf(sessions);
    this.connections = List.copyOf(connections);
    guard = new StreamGuard(program, !isChannelTheStream(), guards);
    try {
      for (int link = 0; link < sessions.size(); link++) {
        OpenedSession session = sessions.get(link);
        guard.add(
            session.id(),
            new GuardedStream(
                connections.get(link), session.callStream().address(), session.isResumable()));
      }
    } catch (IOException e) {
      connections.forEach(UnixChannel::close);
      close();
      throw e;
    }
  }

  /** Returns whether the program talks to its workers itself. */
  boolean areHandedOver() {
    return IntStream.range(0, sessions.size()).noneMatch(this::isRelayed);
  }

  /** Returns whether the program can come back by other connections. */
  boolean areResumable() {
    return sessions.stream().allMatch(OpenedSession::isResumable);
  }

  /**
   * Returns whether the program's own channel is the call stream, and this process relays what
   * comes.
   */
  boolean areRelayedByChannel() {
    return isChannelTheStream() && !isEncrypted(0);
  }

  /** Answers the program, and gives it its call streams. */
  CompletableFuture<Void> hand() {
    for (int link = 0; link < sessions.size(); link++) {
      OpenedSession session = sessions.get(link);
      LOG.info(
          "lease {} session {}: call stream to {} {}{}",
          handle.leaseId(),
          session.id().brief(),
          session.callStream().address(),
          StreamConnector.manner(
              connections.get(link), session.callStream(), session.seal() != null),
          isRelayed(link) ? "relayed" : "handed over");
    }
    return isChannelTheStream()
        ? relayByChannel(connections.getFirst(), sessions.getFirst())
        : handDescriptors();
  }

  /** Ends all streams, for this reason, which the program hears if it can hear it. */
  void end(String reason) {
    guard.end(reason);
  }

  /** Lets go of the streams; the program has left. */
  void close() {
    guard.close();
  }

  /** A stream that can be resumed must be able to break while the program's channel stays. */
  private boolean isChannelTheStream() {
    return sessions.size() == 1 && isRelayed(0) && !sessions.getFirst().isResumable();
  }

  /** Returns whether the agent relays the stream: it has to pass on what it decrypts. */
  private boolean isRelayed(int link) {
    return relay || isEncrypted(link);
  }

  private boolean isEncrypted(int link) {
    return StreamConnector.isEncrypted(connections.get(link), sessions.get(link).callStream());
  }

  private boolean isLocal(int link) {
    return StreamConnector.isLocal(connections.get(link));
  }

  private TextMessage.Builder attached() {
    TextMessage.Builder answer =
        TextMessage.ofType("attached")
            .put("protocol", Versions.LOCAL_PROTOCOL)
            .put("mode", isChannelTheStream() ? "relay" : "descriptor")
            .put("session", sessions.getFirst().id().toString())
            .put("lease", handle.leaseId())
            .put("server", lease.pool().address().toString());
    for (int link = 0; link < sessions.size(); link++) {
      StreamSeal seal = sessions.get(link).seal();
      if (isLocal(link)) {
        answer.put("local." + link, 1);
      } else if (seal != null) {
        answer.put("secret." + link, seal.secret().hex());
      }
    }
    return answer;
  }

  private TextMessage attachedByDescriptors() {
    TextMessage.Builder answer = attached();
    if (areResumable()) {
      Duration window = sessions.getFirst().resumeWindow();
      answer.put("resume_window", Math.max(1, window.toSeconds()));
      if (lease.isOwn()) {
        answer.put("ticket", handle.text());
      }
    }
    if (sessions.size() > 1) {
      answer.put("streams", sessions.size());
    }
    for (int link = 0; link < sessions.size(); link++) {
      OpenedSession session = sessions.get(link);
      if (areResumable() || sessions.size() > 1) {
        answer
            .put("server." + link, session.server().getName())
            .put("session." + link, session.id().toString());
      }
      if (areResumable()) {
        answer.put("session_key." + link, hex(session.handle().key()));
      }
      if (sessions.size() > 1) {
        InetSocketAddress address = session.callStream().address();
        answer
            .put("stream." + link, address.getAddress().getHostAddress() + ":" + address.getPort())
            .put("peer_key." + link, hex(session.peerKey()));
      }
    }
    return answer.build();
  }

  private static String hex(SessionKey key) {
    return HexFormat.of().formatHex(key.bytes());
  }

  private CompletableFuture<Void> handDescriptors() {
    List<CompletableFuture<FileDescriptor>> descriptors = new ArrayList<>();
    for (int link = 0; link < sessions.size(); link++) {
      OpenedSession session = sessions.get(link);
      CompletableFuture<FileDescriptor> handing =
          HandOver.of(connections.get(link), session.id().brief(), isEncrypted(link), relay);
      descriptors.add(
          session.isResumable()
              ? handing.exceptionallyCompose(broken -> HandOver.ended())
              : handing);
    }
    return CompletableFuture.allOf(descriptors.toArray(CompletableFuture[]::new))
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure != null || !program.isActive()) {
                descriptors.forEach(descriptor -> descriptor.thenAccept(Detaching::closeQuietly));
                return;
              }
              program.pipeline().remove(TextMessageDecoder.class);
              program.write(encode(attachedByDescriptors()));
              for (CompletableFuture<FileDescriptor> descriptor : descriptors) {
                FileDescriptor handing = descriptor.join();
                program.write(handing).addListener(sent -> Detaching.closeQuietly(handing));
              }
              program.flush();
            },
            program.eventLoop());
  }

  private CompletableFuture<Void> relayByChannel(UnixChannel connected, OpenedSession session) {
    program.config().setAutoRead(false);
    program.writeAndFlush(encode(attached().build()));
    if (isEncrypted(0)) {
      return relayOverTls(connected, session);
    }
    Relay.join(connected, program);
    program.pipeline().remove(TextMessageDecoder.class);
    return CompletableFuture.completedFuture(null);
  }

  /** Relays over TLS; from then on the channel only shows its end. */
  private CompletableFuture<Void> relayOverTls(UnixChannel connected, OpenedSession session) {
    return TakenConnection.of(connected)
        .thenCompose(taken ->
            Detaching.lend(program)
                .whenComplete((descriptor, failure) -> {
                  if (failure != null) {
                    taken.close();
                    return;
                  }
                  TlsRelay started =
                      TlsRelay.start(session.id().brief(), taken, descriptor, program::close);
                  program.closeFuture().addListener(closed -> started.close());
                }))
        .thenAccept(descriptor -> {});
  }

  private static ByteBuf encode(TextMessage message) {
    return TextMessageDecoder.encode(message);
  }
}
