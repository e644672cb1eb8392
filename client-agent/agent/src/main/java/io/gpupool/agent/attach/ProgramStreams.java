// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.OpenedSession;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.Relay;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.netty.buffer.ByteBuf;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The call streams of one program: handed over to it or relayed, and ended under it when its lease
 * has ended or a server is silent. Runs on the program's event loop.
 */
final class ProgramStreams {
  private static final Logger LOG = LoggerFactory.getLogger(ProgramStreams.class);

  private final EpollDomainSocketChannel program;
  private final boolean relay;
  private final AttachRequest.LeaseHandle lease;
  private final PoolAddress pool;
  private final List<OpenedSession> sessions;
  private final List<EpollSocketChannel> connections;
  private final List<GuardedStream> guarded = new ArrayList<>();
  private @Nullable ScheduledFuture<?> looking;
  private boolean ended;

  /**
   * Takes connected call streams, which this closes if it fails.
   *
   * @param relay whether bytes are relayed although they need not be
   * @throws IOException if the process has no descriptors left
   */
  ProgramStreams(
      EpollDomainSocketChannel program,
      boolean relay,
      AttachRequest.LeaseHandle lease,
      PoolAddress pool,
      List<OpenedSession> sessions,
      List<EpollSocketChannel> connections)
      throws IOException {
    this.program = program;
    this.relay = relay;
    this.lease = lease;
    this.pool = pool;
    this.sessions = List.copyOf(sessions);
    this.connections = List.copyOf(connections);
    try {
      for (int link = 0; link < sessions.size(); link++) {
        guarded.add(new GuardedStream(connections.get(link), sessions.get(link)));
      }
    } catch (IOException e) {
      connections.forEach(EpollSocketChannel::close);
      close();
      throw e;
    }
    looking = program.eventLoop().scheduleAtFixedRate(this::check, 1, 1, TimeUnit.SECONDS);
  }

  /** Returns whether the program talks to its workers itself. */
  boolean areHandedOver() {
    return sessions.stream().noneMatch(this::isRelayed);
  }

  /**
   * Returns whether the program's own channel is the call stream, and this process relays what
   * comes.
   */
  boolean areRelayedByChannel() {
    return sessions.size() == 1 && relay && !sessions.getFirst().callStream().isEncrypted();
  }

  /** Answers the program, and gives it its call streams. */
  CompletableFuture<Void> hand() {
    for (OpenedSession session : sessions) {
      LOG.info(
          "lease {} session {}: call stream to {} {}{}",
          lease.leaseId(),
          session.id().brief(),
          session.callStream().address(),
          session.callStream().isEncrypted() ? "over TLS " : "",
          isRelayed(session) ? "relayed" : "handed over");
    }
    return sessions.size() == 1
        ? handOne(connections.getFirst(), sessions.getFirst())
        : handSeveral();
  }

  /** Ends all streams, for this reason, which the program hears if it can hear it. */
  void end(String reason) {
    if (ended) {
      return;
    }
    ended = true;
    LOG.warn("lease {} session {}: {}", lease.leaseId(), sessions.getFirst().id().brief(), reason);
    if (isChannelTheStream()) {
      guarded.forEach(GuardedStream::shutdown);
    } else {
      // First the reason: the program looks for it when its stream has ended.
      program
          .writeAndFlush(
              encode(TextMessage.ofType("ended").put("message", reason.replace('\n', ' ')).build()))
          .addListener(told -> guarded.forEach(GuardedStream::shutdown));
    }
  }

  /** Lets go of the streams; the program has left. */
  void close() {
    ended = true;
    if (looking != null) {
      looking.cancel(false);
    }
    guarded.forEach(GuardedStream::close);
    guarded.clear();
  }

  private void check() {
    long nowNanos = System.nanoTime();
    guarded.stream()
        .filter(stream -> stream.isSilent(nowNanos))
        .findFirst()
        .ifPresent(stream ->
            end(
                "the server at "
                    + stream.server()
                    + " has not answered for "
                    + StreamKeepAlive.LIMIT_SECONDS
                    + " s; is it running, and is its port open?"));
  }

  private boolean isChannelTheStream() {
    return sessions.size() == 1 && isRelayed(sessions.getFirst());
  }

  /** Returns whether the agent relays the stream: it has to pass on what it decrypts. */
  private boolean isRelayed(OpenedSession session) {
    return relay || session.callStream().isEncrypted();
  }

  private TextMessage.Builder attached(boolean relayed) {
    return TextMessage.ofType("attached")
        .put("protocol", Versions.LOCAL_PROTOCOL)
        .put("mode", relayed ? "relay" : "descriptor")
        .put("session", sessions.getFirst().id().toString())
        .put("lease", lease.leaseId())
        .put("server", pool.toString());
  }

  private CompletableFuture<Void> handSeveral() {
    TextMessage.Builder answer = attached(false);
    answer.put("streams", sessions.size());
    List<CompletableFuture<FileDescriptor>> descriptors = new ArrayList<>();
    for (int link = 0; link < sessions.size(); link++) {
      OpenedSession session = sessions.get(link);
      InetSocketAddress address = session.callStream().address();
      answer
          .put("server." + link, session.server().getName())
          .put("session." + link, session.id().toString())
          .put("stream." + link, address.getAddress().getHostAddress() + ":" + address.getPort())
          .put("peer_key." + link, HexFormat.of().formatHex(session.peerKey().bytes()));
      descriptors.add(HandOver.of(connections.get(link), session, relay));
    }
    return CompletableFuture.allOf(descriptors.toArray(CompletableFuture[]::new))
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure != null || !program.isActive()) {
                descriptors.forEach(descriptor -> descriptor.thenAccept(Detaching::closeQuietly));
                return;
              }
              program.pipeline().remove(TextMessageDecoder.class);
              program.write(encode(answer.build()));
              for (CompletableFuture<FileDescriptor> descriptor : descriptors) {
                FileDescriptor handing = descriptor.join();
                program.write(handing).addListener(sent -> Detaching.closeQuietly(handing));
              }
              program.flush();
            },
            program.eventLoop());
  }

  private CompletableFuture<Void> handOne(EpollSocketChannel connected, OpenedSession session) {
    TextMessage answer = attached(isRelayed(session)).build();
    if (session.callStream().isEncrypted()) {
      program.config().setAutoRead(false);
      program.writeAndFlush(encode(answer));
      return relayOverTls(connected, session);
    }
    if (relay) {
      program.config().setAutoRead(false);
      program.writeAndFlush(encode(answer));
      Relay.join(connected, program);
      program.pipeline().remove(TextMessageDecoder.class);
      return CompletableFuture.completedFuture(null);
    }
    return Detaching.detach(connected)
        .thenAccept(descriptor -> {
          if (!program.isActive()) {
            Detaching.closeQuietly(descriptor);
            return;
          }
          program.pipeline().remove(TextMessageDecoder.class);
          program.write(encode(answer));
          program.writeAndFlush(descriptor).addListener(sent -> Detaching.closeQuietly(descriptor));
        });
  }

  /** Relays over TLS; from then on the channel only shows its end. */
  private CompletableFuture<Void> relayOverTls(
      EpollSocketChannel connected, OpenedSession session) {
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
