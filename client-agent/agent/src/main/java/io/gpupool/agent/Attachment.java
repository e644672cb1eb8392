// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.control.v1.Holder;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.Relay;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.transport.tls.TakenConnection;
import io.gpupool.transport.tls.TlsRelay;
import io.gpupool.wire.BuildVersion;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.PeerCredentials;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One program process from its attach message to its end: obtains what it needs from the pool,
 * hands the call stream over, then waits for the process to end. Runs on its channel's event loop.
 */
final class Attachment extends ChannelInboundHandlerAdapter {
  private static final long ATTACH_LIMIT_SECONDS = 10;

  /** How often the pool is asked whether a pod's lease is granted by now. */
  private static final long LOOK_AGAIN_MILLIS = 1000;

  private static final Logger LOG = LoggerFactory.getLogger(Attachment.class);

  private final EpollDomainSocketChannel channel;
  private final AgentOptions options;
  private final PoolClients clients;
  private final OwnLeases leases;
  private final LeaseViews views;
  private final PodConnections podConnections;
  private final BooleanSupplier agentEnds;
  private ScheduledFuture<?> limit;
  private boolean asked;
  private Optional<PodPrograms.Pod> pod = Optional.empty();
  private Optional<Refusal> noPod = Optional.empty();
  private Optional<String> countedAs = Optional.empty();
  private boolean gone;
  private boolean relayed;
  private boolean handed;
  private final LeaseWait wait;
  private boolean inPod;
  private boolean goesOnAlone;
  private PoolCredentials credentials = PoolCredentials.toOtherPool(Optional.empty());
  private Optional<PoolClient> client = Optional.empty();
  private Optional<OwnLeases.Use> ownLease = Optional.empty();
  private Optional<LeaseSessions> sessions = Optional.empty();
  private List<CompletableFuture<EpollSocketChannel>> streams = List.of();

  Attachment(
      EpollDomainSocketChannel channel,
      AgentOptions options,
      PoolClients clients,
      OwnLeases leases,
      LeaseViews views,
      PodConnections podConnections,
      BooleanSupplier agentEnds) {
    this.podConnections = podConnections;
    this.agentEnds = agentEnds;
    this.channel = channel;
    wait = new LeaseWait(channel);
    this.options = options;
    this.clients = clients;
    this.leases = leases;
    this.views = views;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    channel.closeFuture().addListener(closed -> end());
    limit =
        context
            .executor()
            .schedule((Runnable) channel::close, ATTACH_LIMIT_SECONDS, TimeUnit.SECONDS);
    options.pods().ifPresent(this::identify);
  }

  /** At once, since a process that asks later may be another one with the same number. */
  private void identify(PodPrograms pods) {
    try {
      PodPrograms.Pod found = pods.podOf(channel.peerCredentials().pid(), pods.nowTicks());
      podConnections.enter(found.uid());
      countedAs = Optional.of(found.uid());
      pod = Optional.of(found);
    } catch (Refusal e) {
      refuseOnceAsked(e);
    } catch (IOException e) {
      refuseOnceAsked(
          new Refusal(
              Refusal.Cause.INTERNAL, "the node does not tell whose program this is: " + e));
    }
  }

  private void refuseOnceAsked(Refusal refusal) {
    noPod = Optional.of(refusal);
    if (podConnections.enterRefused()) {
      countedAs = Optional.of(PodConnections.REFUSED);
    } else {
      channel.close();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) {
    if (relayed) {
      context.fireChannelRead(value);
    } else if (!asked && value instanceof TextMessage message) {
      answer(message);
    } else {
      ReferenceCountUtil.release(value);
      LOG.warn("a program talks where it should be silent; its session ends");
      channel.close();
    }
  }

  /** The program has ended, or is let go. */
  private void end() {
    gone = true;
    countedAs.ifPresent(podConnections::leave);
    if (limit != null) {
      limit.cancel(false);
    }
    streams.forEach(dialing -> dialing.cancel(false));
    if (!handed) {
      streams.forEach(dialing -> dialing.thenAccept(EpollSocketChannel::close));
    }
    if (ownLease.isPresent() && ownLease.get().isLast()) {
      ownLease.get().release().whenCompleteAsync((done, failure) -> forget(), channel.eventLoop());
    } else {
      ownLease.ifPresent(OwnLeases.Use::release);
      sessions
          .filter(open -> !(goesOnAlone && agentEnds.getAsBoolean()))
          .map(LeaseSessions::end)
          .orElseGet(() -> CompletableFuture.completedFuture(null))
          .whenCompleteAsync((done, failure) -> forget(), channel.eventLoop());
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    Throwable inner = cause.getCause() == null ? cause : cause.getCause();
    if (inner instanceof WireException && !asked) {
      asked = true;
      refuse(new Refusal(Refusal.Cause.PROTOCOL, inner.getMessage()));
    } else {
      LOG.debug("connection of a program: {}", cause.getMessage());
      context.close();
    }
  }

  private void answer(TextMessage message) {
    asked = true;
    limit.cancel(false);
    try {
      PeerCredentials peer = channel.peerCredentials();
      checkUser(peer);
      if (message.type().equals("status")) {
        channel.writeAndFlush(encode(status())).addListener(ChannelFutureListener.CLOSE);
        return;
      }
      AttachRequest request = AttachRequest.of(message);
      if (noPod.isPresent()) {
        throw noPod.get();
      }
      Standing standing = Standing.of(request, options, pod);
      if (message.type().equals("nvml")) {
        Watch watch = new Watch(channel, request, standing, peer, options, clients, leases, views);
        channel.pipeline().replace(this, null, watch);
        watch.answer(message);
      } else {
        attach(request, standing, peer);
      }
    } catch (Refusal e) {
      refuse(e);
    } catch (IOException | IllegalArgumentException e) {
      refuse(new Refusal(Refusal.Cause.REFUSED, e.getMessage()));
    }
  }

  private void attach(AttachRequest request, Standing standing, PeerCredentials peer) {
    PoolAddress pool = standing.pool();
    credentials = standing.credentials();
    inPod = standing.inPod();
    PoolClient to = clients.take(pool, credentials);
    client = Optional.of(to);
    Holder holder = request.holder(peer);
    ticket(request, standing, peer, to, holder)
        .thenCompose(
            ticket -> inPod ? openWhenGranted(ticket, to, holder) : open(ticket, to, holder))
        .whenCompleteAsync(
            (attached, failure) -> {
              if (failure != null) {
                refuse(Refusal.of(failure, pool));
              }
            },
            channel.eventLoop());
  }

  private CompletableFuture<AttachRequest.Ticket> ticket(
      AttachRequest request,
      Standing standing,
      PeerCredentials peer,
      PoolClient to,
      Holder holder) {
    if (standing.ticket().isPresent()) {
      return CompletableFuture.completedFuture(standing.ticket().get());
    }
    OwnLeases.Use own =
        leases.take(peer.pid(), to, request.wish().orElse(options.wish()).request(holder));
    ownLease = Optional.of(own);
    return own.lease().thenApply(AttachRequest.Ticket::of);
  }

  /**
   * A pod's lease is the affair of the cluster's controller: where it does not keep pods from
   * starting before they have theirs, programs wait here. They wait a little for servers, too,
   * which start anew by themselves and whose names the cluster then has to learn.
   */
  private CompletableFuture<Void> openWhenGranted(
      AttachRequest.Ticket ticket, PoolClient to, Holder holder) {
    CompletableFuture<Void> attached = new CompletableFuture<>();
    openWhenGranted(ticket, to, holder, attached);
    return attached;
  }

  /** Each time anew: futures that wait for the next time's would become more with each. */
  private void openWhenGranted(
      AttachRequest.Ticket ticket, PoolClient to, Holder holder, CompletableFuture<Void> attached) {
    open(ticket, to, holder)
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure == null) {
                attached.complete(null);
                return;
              }
              Optional<String> why = gone ? Optional.empty() : wait.reason(failure, to.address());
              if (why.isEmpty()) {
                attached.completeExceptionally(failure);
                return;
              }
              wait.tell(why.get(), ticket, holder);
              LeaseSessions opening = sessions.orElseThrow();
              // Of several servers, one may have opened its session already.
              opening
                  .end()
                  .whenCompleteAsync(
                      (ended, nothing) -> {
                        opening.forget();
                        openAgain(ticket, to, holder, attached);
                      },
                      channel.eventLoop());
            },
            channel.eventLoop());
  }

  private void openAgain(
      AttachRequest.Ticket ticket, PoolClient to, Holder holder, CompletableFuture<Void> attached) {
    channel
        .eventLoop()
        .schedule(
            () -> {
              if (!gone) {
                openWhenGranted(ticket, to, holder, attached);
              }
            },
            LOOK_AGAIN_MILLIS,
            TimeUnit.MILLISECONDS);
  }

  private CompletableFuture<Void> open(AttachRequest.Ticket ticket, PoolClient to, Holder holder) {
    if (gone) {
      return CompletableFuture.failedFuture(
          new Refusal(Refusal.Cause.INTERNAL, "the program has left"));
    }
    LeaseSessions opening =
        new LeaseSessions(ticket, holder, credentials, to, clients, channel.eventLoop());
    sessions = Optional.of(opening);
    return opening
        .open()
        .thenComposeAsync(
            opened -> {
              if (gone) {
                throw new Refusal(Refusal.Cause.INTERNAL, "the program has left");
              }
              streams =
                  opened.stream()
                      .map(session ->
                          CallStreamDialer.dial(
                              session.callStream(), session.hello(), channel.eventLoop()))
                      .toList();
              return CompletableFuture.allOf(streams.toArray(CompletableFuture[]::new))
                  .thenCompose(done -> hand(opened, ticket, to));
            },
            channel.eventLoop());
  }

  /** All call streams are connected. */
  private CompletableFuture<Void> hand(
      List<OpenedSession> opened, AttachRequest.Ticket ticket, PoolClient to) {
    handed = true;
    goesOnAlone = inPod && opened.stream().noneMatch(this::isRelayed);
    for (OpenedSession session : opened) {
      LOG.info(
          "lease {} session {}: call stream to {} {}{}",
          ticket.leaseId(),
          session.id().brief(),
          session.callStream().address(),
          session.callStream().tls().isPresent() ? "over TLS " : "",
          isRelayed(session) ? "relayed" : "handed over");
    }
    return opened.size() == 1
        ? hand(streams.getFirst().join(), opened.getFirst(), ticket, to)
        : handSeveral(opened, ticket, to);
  }

  /** What the agent decrypts, it has to pass on. */
  private boolean isRelayed(OpenedSession session) {
    return options.relay() || session.callStream().tls().isPresent();
  }

  private static TextMessage.Builder attached(
      boolean relay, OpenedSession opened, AttachRequest.Ticket ticket, PoolClient to) {
    return TextMessage.ofType("attached")
        .put("protocol", Versions.LOCAL_PROTOCOL)
        .put("mode", relay ? "relay" : "descriptor")
        .put("session", opened.id().toString())
        .put("lease", ticket.leaseId())
        .put("server", to.address().toString());
  }

  private CompletableFuture<Void> handSeveral(
      List<OpenedSession> opened, AttachRequest.Ticket ticket, PoolClient to) {
    TextMessage.Builder answer = attached(false, opened.getFirst(), ticket, to);
    answer.put("streams", opened.size());
    List<CompletableFuture<FileDescriptor>> descriptors = new ArrayList<>();
    for (int link = 0; link < opened.size(); link++) {
      OpenedSession session = opened.get(link);
      InetSocketAddress address = session.callStream().address();
      answer
          .put("server." + link, session.server().getName())
          .put("session." + link, session.id().toString())
          .put("stream." + link, address.getAddress().getHostAddress() + ":" + address.getPort())
          .put("peer_key." + link, HexFormat.of().formatHex(session.peerKey().bytes()));
      descriptors.add(HandOver.of(streams.get(link).join(), session, options.relay()));
    }
    return CompletableFuture.allOf(descriptors.toArray(CompletableFuture[]::new))
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure != null || !channel.isActive()) {
                descriptors.forEach(descriptor -> descriptor.thenAccept(Detaching::closeQuietly));
                return;
              }
              channel.pipeline().remove(TextMessageDecoder.class);
              channel.write(encode(answer.build()));
              for (CompletableFuture<FileDescriptor> descriptor : descriptors) {
                FileDescriptor handing = descriptor.join();
                channel.write(handing).addListener(sent -> Detaching.closeQuietly(handing));
              }
              channel.flush();
            },
            channel.eventLoop());
  }

  private CompletableFuture<Void> hand(
      EpollSocketChannel connected,
      OpenedSession opened,
      AttachRequest.Ticket ticket,
      PoolClient to) {
    boolean relay = isRelayed(opened);
    TextMessage answer = attached(relay, opened, ticket, to).build();
    if (opened.callStream().tls().isPresent()) {
      channel.config().setAutoRead(false);
      channel.writeAndFlush(encode(answer));
      return relayOverTls(connected, opened);
    }
    if (relay) {
      relayed = true;
      channel.config().setAutoRead(false);
      channel.writeAndFlush(encode(answer));
      Relay.join(connected, channel);
      channel.pipeline().remove(TextMessageDecoder.class);
      return CompletableFuture.completedFuture(null);
    }
    return Detaching.detach(connected)
        .thenAccept(descriptor -> {
          if (!channel.isActive()) {
            Detaching.closeQuietly(descriptor);
            return;
          }
          channel.pipeline().remove(TextMessageDecoder.class);
          channel.write(encode(answer));
          channel.writeAndFlush(descriptor).addListener(sent -> Detaching.closeQuietly(descriptor));
        });
  }

  /** From here on the channel is there for its end alone. */
  private CompletableFuture<Void> relayOverTls(EpollSocketChannel connected, OpenedSession opened) {
    return TakenConnection.of(connected)
        .thenCompose(taken ->
            Detaching.lend(channel)
                .whenComplete((program, failure) -> {
                  if (failure != null) {
                    taken.close();
                    return;
                  }
                  TlsRelay relay =
                      TlsRelay.start(opened.id().brief(), taken, program, channel::close);
                  channel.closeFuture().addListener(closed -> relay.close());
                }))
        .thenAccept(program -> {});
  }

  private void refuse(Refusal refusal) {
    Watch.refuse(channel, refusal);
  }

  private void checkUser(PeerCredentials peer) {
    if (!options.anyUser() && peer.uid() != 0 && peer.uid() != LocalNames.USER_ID) {
      throw new Refusal(
          Refusal.Cause.DENIED,
          "this agent serves the programs of user "
              + LocalNames.user(LocalNames.USER_ID)
              + " only; start one of your own, or that one with --any-user");
    }
  }

  private TextMessage status() {
    return TextMessage.ofType("status")
        .put("protocol", Versions.LOCAL_PROTOCOL)
        .put("version", BuildVersion.TEXT)
        .put("serves", options.pods().isPresent() ? "pods" : "programs")
        .put("pool", options.pool().map(options.security()::secured).map(PoolAddress::toString))
        .build();
  }

  private void forget() {
    client.ifPresent(clients::giveBack);
    client = Optional.empty();
    sessions.ifPresent(LeaseSessions::forget);
    sessions = Optional.empty();
  }

  private static ByteBuf encode(TextMessage message) {
    return TextMessageDecoder.encode(message);
  }
}
