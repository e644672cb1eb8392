// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.client.OpenedSession;
import io.gpupool.client.PoolAddress;
import io.gpupool.client.PoolClient;
import io.gpupool.client.PoolRequestException;
import io.gpupool.control.v1.Holder;
import io.gpupool.runtime.ProcessInfo;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.dial.CallStreamDialer;
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
import io.netty.channel.unix.PeerCredentials;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
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
  private final ImplicitLeases leases;
  private final LeaseViews views;
  private final LeasePrograms programs;
  private final ConnectionShares podConnections;
  private final UserConnections userConnections;
  private final BooleanSupplier agentEnds;
  private ScheduledFuture<?> limit;
  private boolean asked;
  private Optional<PodPrograms.Pod> pod = Optional.empty();
  private Optional<PoolRequestException> noPod = Optional.empty();
  private Optional<String> countedAs = Optional.empty();
  private boolean gone;
  private boolean relayed;
  private boolean handed;
  private final LeaseWait wait;
  private boolean inPod;
  private Map<String, String> driverEnvironment = Map.of();
  private boolean goesOnAlone;
  private PoolCredentials credentials = PoolCredentials.toOtherPool(Optional.empty());
  private Optional<PoolClient> client = Optional.empty();
  private Optional<ImplicitLeases.Reference> ownLease = Optional.empty();
  private Optional<LeaseSessions> sessions = Optional.empty();
  private List<CompletableFuture<EpollSocketChannel>> streams = List.of();
  private Optional<ProgramStreams> handedOver = Optional.empty();

  Attachment(
      EpollDomainSocketChannel channel,
      AgentOptions options,
      PoolClients clients,
      ImplicitLeases leases,
      LeaseViews views,
      LeasePrograms programs,
      ConnectionShares podConnections,
      UserConnections userConnections,
      BooleanSupplier agentEnds) {
    this.programs = programs;
    this.podConnections = podConnections;
    this.userConnections = userConnections;
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
    options.pods().ifPresentOrElse(this::identify, this::count);
  }

  /** At once, since a process that asks later may be another one with the same number. */
  private void identify(PodPrograms pods) {
    try {
      PodPrograms.Pod found = pods.podOf(channel.peerCredentials().pid(), pods.nowTicks());
      podConnections.enter(found.uid());
      countedAs = Optional.of(found.uid());
      pod = Optional.of(found);
    } catch (PoolRequestException e) {
      refuseOnceAsked(e);
    } catch (IOException e) {
      refuseOnceAsked(
          new PoolRequestException(
              PoolRequestException.Cause.INTERNAL,
              "the node does not tell whose program this is: " + e));
    }
  }

  private void count() {
    try {
      PeerCredentials peer = channel.peerCredentials();
      userConnections.enter(channel, new UserConnections.Peer(peer.uid(), peer.pid()));
    } catch (IOException e) {
      LOG.debug("connection of a program: {}", e.getMessage());
      channel.close();
    }
  }

  private void refuseOnceAsked(PoolRequestException refusal) {
    noPod = Optional.of(refusal);
    if (podConnections.enterRefused()) {
      countedAs = Optional.of(ConnectionShares.REFUSED);
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
    handedOver.ifPresent(ProgramStreams::close);
    if (!handed) {
      streams.forEach(dialing -> dialing.thenAccept(EpollSocketChannel::close));
    }
    if (ownLease.isPresent() && ownLease.get().isLast()) {
      ownLease.get().release().whenCompleteAsync((done, failure) -> forget(), channel.eventLoop());
    } else {
      ownLease.ifPresent(ImplicitLeases.Reference::release);
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
      refuse(new PoolRequestException(PoolRequestException.Cause.PROTOCOL, inner.getMessage()));
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
      if (options.pods().isEmpty()) {
        userConnections.ask(channel);
      }
      if (message.type().equals("status")) {
        channel.writeAndFlush(encode(status())).addListener(ChannelFutureListener.CLOSE);
        return;
      }
      if (message.type().equals("ended")) {
        message
            .get("lease")
            .map(AttachRequest.LeaseHandle::parse)
            .ifPresent(ended -> programs.ended(ended, message.get("message").orElse("")));
        channel.close();
        return;
      }
      AttachRequest request = AttachRequest.of(message);
      if (noPod.isPresent()) {
        throw noPod.get();
      }
      PoolIdentity identity = PoolIdentity.of(request, options, pod);
      if (message.type().equals("nvml")) {
        NvmlConnection watch =
            new NvmlConnection(channel, request, identity, peer, options, clients, leases, views);
        channel.pipeline().replace(this, null, watch);
        watch.answer(message);
      } else {
        attach(request, identity, peer);
      }
    } catch (PoolRequestException e) {
      refuse(e);
    } catch (IOException | IllegalArgumentException e) {
      refuse(new PoolRequestException(PoolRequestException.Cause.REFUSED, e.getMessage()));
    }
  }

  private void attach(AttachRequest request, PoolIdentity identity, PeerCredentials peer) {
    PoolAddress pool = identity.pool();
    credentials = identity.credentials();
    inPod = identity.inPod();
    driverEnvironment = request.driverEnvironment();
    PoolClient to = clients.take(pool, credentials);
    client = Optional.of(to);
    Holder holder = request.holder(peer);
    ticket(request, identity, peer, to, holder)
        .thenCompose(
            ticket -> inPod ? openWhenGranted(ticket, to, holder) : open(ticket, to, holder))
        .whenCompleteAsync(
            (attached, failure) -> {
              if (failure != null) {
                refuse(PoolRequestException.of(failure, pool));
              }
            },
            channel.eventLoop());
  }

  private CompletableFuture<AttachRequest.LeaseHandle> ticket(
      AttachRequest request,
      PoolIdentity identity,
      PeerCredentials peer,
      PoolClient to,
      Holder holder) {
    if (identity.ticket().isPresent()) {
      return CompletableFuture.completedFuture(identity.ticket().get());
    }
    ImplicitLeases.Reference own =
        leases.take(peer.pid(), to, request.wish().orElse(options.wish()).request(holder));
    ownLease = Optional.of(own);
    return own.lease().thenApply(AttachRequest.LeaseHandle::of);
  }

  /**
   * A pod's lease is the affair of the cluster's controller: where it does not keep pods from
   * starting before they have theirs, programs wait here. They wait a little for servers, too,
   * which start anew by themselves and whose names the cluster then has to learn.
   */
  private CompletableFuture<Void> openWhenGranted(
      AttachRequest.LeaseHandle ticket, PoolClient to, Holder holder) {
    CompletableFuture<Void> attached = new CompletableFuture<>();
    openWhenGranted(ticket, to, holder, attached);
    return attached;
  }

  /** Each time anew: futures that wait for the next time's would become more with each. */
  private void openWhenGranted(
      AttachRequest.LeaseHandle ticket,
      PoolClient to,
      Holder holder,
      CompletableFuture<Void> attached) {
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
      AttachRequest.LeaseHandle ticket,
      PoolClient to,
      Holder holder,
      CompletableFuture<Void> attached) {
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

  private CompletableFuture<Void> open(
      AttachRequest.LeaseHandle ticket, PoolClient to, Holder holder) {
    if (gone) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(PoolRequestException.Cause.INTERNAL, "the program has left"));
    }
    LeaseSessions opening =
        new LeaseSessions(
            ticket, holder, driverEnvironment, credentials, to, clients, channel.eventLoop());
    sessions = Optional.of(opening);
    return opening
        .open()
        .thenComposeAsync(
            opened -> {
              if (gone) {
                throw new PoolRequestException(
                    PoolRequestException.Cause.INTERNAL, "the program has left");
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
      List<OpenedSession> opened, AttachRequest.LeaseHandle ticket, PoolClient to) {
    List<EpollSocketChannel> connected = streams.stream().map(CompletableFuture::join).toList();
    handed = true;
    try {
      ProgramStreams handing =
          new ProgramStreams(channel, options.relay(), ticket, to.address(), opened, connected);
      handedOver = Optional.of(handing);
      relayed = handing.areRelayedByChannel();
      goesOnAlone = inPod && handing.areHandedOver();
      Consumer<String> onLeaseEnded = handing::end;
      programs.add(ticket, onLeaseEnded);
      channel.closeFuture().addListener(closed -> programs.remove(ticket, onLeaseEnded));
      return handing.hand();
    } catch (IOException e) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(
              PoolRequestException.Cause.INTERNAL,
              "the agent has no descriptors left: " + e.getMessage()));
    }
  }

  private void refuse(PoolRequestException refusal) {
    NvmlConnection.refuse(channel, refusal);
  }

  private void checkUser(PeerCredentials peer) {
    if (!options.anyUser() && peer.uid() != 0 && peer.uid() != ProcessInfo.USER_ID) {
      throw new PoolRequestException(
          PoolRequestException.Cause.DENIED,
          "this agent serves the programs of user "
              + ProcessInfo.user(ProcessInfo.USER_ID)
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
