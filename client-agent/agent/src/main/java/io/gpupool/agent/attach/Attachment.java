// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AgentServices;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.PoolIdentity;
import io.gpupool.agent.lease.ProgramLease;
import io.gpupool.agent.lease.ProgramRefusal;
import io.gpupool.agent.nvml.LeaseViews;
import io.gpupool.agent.nvml.NvmlConnection;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.runtime.ProcessInfo;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.BuildVersion;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection of one program to the agent, from its first message to its end. Runs on its
 * channel's event loop.
 */
public final class Attachment extends ChannelInboundHandlerAdapter {
  private static final long ATTACH_LIMIT_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(Attachment.class);

  private final EpollDomainSocketChannel channel;
  private final AgentServices agent;
  private final LeaseViews views;
  private final ConnectionShares podConnections;
  private final UserConnections userConnections;
  private final StreamGuards guards;
  private final BooleanSupplier agentEnds;
  private AttachmentState state = new AttachmentState.Closed();
  private @Nullable SessionHold holding;
  private @Nullable SessionResumption resuming;
  private PodOfProgram pod = new PodOfProgram.None();

  /** The pod behind a program, as far as it is known. */
  private sealed interface PodOfProgram {
    /** Returns the pod; empty if there is none. */
    Optional<PodPrograms.Pod> orRefuse();

    /** The machine is no node of Kubernetes. */
    record None() implements PodOfProgram {
      @Override
      public Optional<PodPrograms.Pod> orRefuse() {
        return Optional.empty();
      }
    }

    record Known(PodPrograms.Pod pod) implements PodOfProgram {
      @Override
      public Optional<PodPrograms.Pod> orRefuse() {
        return Optional.of(pod);
      }
    }

    /** The program is told why once it has asked. */
    record Refused(PoolRequestException why) implements PodOfProgram {
      @Override
      public Optional<PodPrograms.Pod> orRefuse() {
        throw why;
      }
    }
  }

  /**
   * Serves a connection that is not active yet.
   *
   * @param agentEnds whether the agent is being closed
   */
  public Attachment(
      EpollDomainSocketChannel channel,
      AgentServices agent,
      LeaseViews views,
      ConnectionShares podConnections,
      UserConnections userConnections,
      StreamGuards guards,
      BooleanSupplier agentEnds) {
    this.channel = channel;
    this.agent = agent;
    this.views = views;
    this.podConnections = podConnections;
    this.userConnections = userConnections;
    this.guards = guards;
    this.agentEnds = agentEnds;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    ScheduledFuture<?> limit =
        context
            .executor()
            .schedule((Runnable) channel::close, ATTACH_LIMIT_SECONDS, TimeUnit.SECONDS);
    state = new AttachmentState.AwaitingRequest(() -> limit.cancel(false));
    channel.closeFuture().addListener(closed -> state = state.closed());
    PodPrograms pods = agent.options().pods();
    if (pods != null) {
      identify(pods);
    } else {
      count();
    }
  }

  /** Notes the peer at once: a process that asks later may be another one with the same number. */
  private void identify(PodPrograms pods) {
    try {
      PodPrograms.Pod found = pods.podOf(channel.peerCredentials().pid(), pods.nowTicks());
      podConnections.enter(found.uid());
      leavePodConnectionsAs(found.uid());
      pod = new PodOfProgram.Known(found);
    } catch (PoolRequestException e) {
      refuseOnceAsked(e);
    } catch (IOException e) {
      refuseOnceAsked(
          new PoolRequestException(
              PoolRequestException.Cause.INTERNAL,
              "the node does not know the pod of this program: " + e));
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
    pod = new PodOfProgram.Refused(refusal);
    if (podConnections.enterRefused()) {
      leavePodConnectionsAs(ConnectionShares.REFUSED);
    } else {
      channel.close();
    }
  }

  private void leavePodConnectionsAs(String member) {
    channel.closeFuture().addListener(closed -> podConnections.leave(member));
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) {
    if (state instanceof AttachmentState.Relaying) {
      context.fireChannelRead(value);
    } else if (state instanceof AttachmentState.AwaitingRequest
        && value instanceof TextMessage message) {
      answer(message);
    } else if (holding != null
        && value instanceof TextMessage message
        && message.type().equals("held")) {
      holding.confirm();
    } else if (resuming != null
        && value instanceof TextMessage message
        && message.type().equals("wake")) {
      resuming.wake();
    } else {
      ReferenceCountUtil.release(value);
      LOG.warn("unexpected message of a program after its attach; its session ends");
      channel.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    Throwable inner = cause.getCause() == null ? cause : cause.getCause();
    if (inner instanceof WireException && state instanceof AttachmentState.AwaitingRequest) {
      refuse(
          new PoolRequestException(
              PoolRequestException.Cause.PROTOCOL, String.valueOf(inner.getMessage())));
    } else {
      LOG.debug("connection of a program: {}", cause.getMessage());
      context.close();
    }
  }

  private void answer(TextMessage message) {
    try {
      PeerCredentials peer = channel.peerCredentials();
      checkUser(peer);
      if (agent.options().pods() == null) {
        userConnections.ask(channel);
      }
      switch (message.type()) {
        case "status" -> {
          state = state.answered();
          channel
              .writeAndFlush(TextMessageDecoder.encode(status()))
              .addListener(ChannelFutureListener.CLOSE);
        }
        case "ended" -> {
          state = state.answered();
          leaseEnded(message);
          channel.close();
        }
        default -> serve(message, peer);
      }
    } catch (PoolRequestException e) {
      refuse(e);
    } catch (IOException | IllegalArgumentException e) {
      refuse(
          new PoolRequestException(
              PoolRequestException.Cause.REFUSED, String.valueOf(e.getMessage())));
    }
  }

  /** A holder says that its lease has ended, which ends what the lease's programs wait for. */
  private void leaseEnded(TextMessage message) {
    message
        .get("lease")
        .map(AttachRequest.LeaseHandle::parse)
        .ifPresent(ended -> agent.programs().ended(ended, message.get("message").orElse("")));
  }

  private void serve(TextMessage message, PeerCredentials peer) {
    AttachRequest request = AttachRequest.of(message);
    PoolIdentity identity =
        pod.orRefuse()
            .map(known -> PoolIdentity.ofPod(request, agent.options(), known))
            .orElseGet(() -> PoolIdentity.ofProgram(request, agent.options()));
    if (message.type().equals("nvml")) {
      NvmlConnection watch =
          new NvmlConnection(
              channel, new ProgramLease(request, identity, peer, agent), views, agentEnds);
      state = state.answered();
      channel.pipeline().replace(this, null, watch);
      watch.answer(message);
    } else if (message.type().equals(AttachRequest.RESUME)) {
      resume(
          new SessionResumption(
              channel,
              ResumeRequest.of(message),
              request.holder(peer),
              identity,
              agent,
              guards,
              agentEnds));
    } else if (message.type().equals(AttachRequest.HOLD)) {
      hold(
          new SessionHold(
              channel,
              request,
              HeldSessions.of(message),
              identity,
              peer,
              agent,
              guards,
              agentEnds));
    } else {
      attach(new SessionOpening(channel, request, identity, peer, agent, guards, agentEnds));
    }
  }

  private void resume(SessionResumption resumption) {
    state = state.opening(resumption::giveBack);
    resuming = resumption;
    resumption
        .open()
        .whenCompleteAsync(
            (handing, failure) -> {
              if (failure != null) {
                refuse(resumption.refusal(failure));
              } else if (channel.isActive()) {
                state = state.connected(false);
                resumption.hand(handing);
              } else {
                Detaching.closeQuietly(handing);
              }
            },
            channel.eventLoop());
  }

  private void hold(SessionHold hold) {
    state = state.opening(hold::giveBack);
    hold.open()
        .whenCompleteAsync(
            (held, failure) -> {
              if (failure != null) {
                refuse(hold.refusal(failure));
              } else if (channel.isActive()) {
                state = state.connected(false);
                holding = hold;
                hold.hold();
              }
            },
            channel.eventLoop());
  }

  private void attach(SessionOpening opening) {
    state = state.opening(opening::giveBack);
    opening
        .open()
        .thenComposeAsync(this::handOver, channel.eventLoop())
        .whenCompleteAsync(
            (attached, failure) -> {
              if (failure != null) {
                refuse(opening.refusal(failure));
              }
            },
            channel.eventLoop());
  }

  private CompletableFuture<Void> handOver(ProgramStreams streams) {
    state = state.connected(streams.areRelayedByChannel());
    return streams.hand();
  }

  private void refuse(PoolRequestException refusal) {
    if (state instanceof AttachmentState.AwaitingRequest) {
      state = state.answered();
    }
    ProgramRefusal.send(channel, refusal);
  }

  private void checkUser(PeerCredentials peer) {
    if (!agent.options().anyUser() && peer.uid() != 0 && peer.uid() != ProcessInfo.USER_ID) {
      throw new PoolRequestException(
          PoolRequestException.Cause.DENIED,
          "this agent serves the programs of user "
              + ProcessInfo.user(ProcessInfo.USER_ID)
              + " only; start one of your own, or that one with --any-user");
    }
  }

  private TextMessage status() {
    AgentOptions options = agent.options();
    return TextMessage.ofType("status")
        .put("protocol", Versions.LOCAL_PROTOCOL)
        .put("version", BuildVersion.TEXT)
        .put("serves", options.pods() != null ? "pods" : "programs")
        .putIfPresent(
            "pool",
            Optional.ofNullable(options.pool())
                .map(options.security()::secured)
                .map(PoolAddress::toString)
                .orElse(null))
        .build();
  }
}
