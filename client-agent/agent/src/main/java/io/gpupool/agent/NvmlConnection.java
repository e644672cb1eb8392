// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.client.PoolAddress;
import io.gpupool.client.PoolClient;
import io.gpupool.client.PoolRequestException;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.Holder;
import io.gpupool.runtime.ProcessInfo;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import io.netty.util.ReferenceCountUtil;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connection of a program that reads its lease through NVML. It answers requests one after the
 * other for as long as the program is connected. Opens no session. Runs on its channel's event
 * loop.
 */
final class NvmlConnection extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(NvmlConnection.class);

  private final EpollDomainSocketChannel channel;
  private final LeaseViews views;
  private final PoolClients clients;
  private final PoolClient pool;
  private final PoolAddress address;
  private final Optional<ImplicitLeases.Reference> ownLease;
  private final CompletableFuture<AttachRequest.LeaseHandle> ticket;
  private boolean answering;

  /**
   * Asks for the lease that the program would get for its calls, unless it has one.
   *
   * @throws IllegalArgumentException if a value has the wrong form
   */
  NvmlConnection(
      EpollDomainSocketChannel channel,
      AttachRequest request,
      PoolIdentity identity,
      PeerCredentials peer,
      AgentOptions options,
      PoolClients clients,
      ImplicitLeases leases,
      LeaseViews views) {
    this.channel = channel;
    this.views = views;
    this.clients = clients;
    address = identity.pool();
    pool = clients.take(address, identity.credentials());
    Holder holder = request.holder(peer);
    try {
      ownLease =
          identity.ticket().isPresent()
              ? Optional.empty()
              : Optional.of(
                  leases.take(
                      peer.pid(), pool, request.wish().orElse(options.wish()).request(holder)));
    } catch (RuntimeException e) {
      clients.giveBack(pool);
      throw e;
    }
    ticket =
        ownLease
            .map(own -> own.lease().thenApply(AttachRequest.LeaseHandle::of))
            .orElseGet(() -> CompletableFuture.completedFuture(identity.ticket().orElseThrow()));
    channel.closeFuture().addListener(closed -> end());
  }

  private void end() {
    ownLease
        .map(ImplicitLeases.Reference::release)
        .orElseGet(() -> CompletableFuture.completedFuture(null))
        .whenComplete((done, failure) -> clients.giveBack(pool));
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) {
    if (!answering && value instanceof TextMessage message && message.type().equals("nvml")) {
      answer(message);
    } else {
      ReferenceCountUtil.release(value);
      LOG.warn("a program that looks at its GPUs talks out of turn");
      channel.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    LOG.debug("connection of a program: {}", cause.getMessage());
    context.close();
  }

  void answer(TextMessage question) {
    answering = true;
    ticket
        .thenComposeAsync(
            known -> views.of(pool, known).thenApply(lease -> answer(question, known, lease)),
            channel.eventLoop())
        .whenCompleteAsync(
            (answer, failure) -> {
              answering = false;
              if (failure == null) {
                channel.writeAndFlush(TextMessageDecoder.encode(answer));
              } else {
                refuse(channel, PoolRequestException.of(failure, address));
              }
            },
            channel.eventLoop());
  }

  /** The lease as a whole, or the GPU that was asked for. */
  private TextMessage answer(
      TextMessage question, AttachRequest.LeaseHandle known, DescribeLeaseReply lease) {
    Optional<String> gpu = question.get("gpu");
    if (gpu.isEmpty()) {
      return GpuView.lease(lease, ownLease.map(own -> known.leaseId() + "." + known.secret()));
    }
    try {
      return GpuView.gpu(lease, Integer.parseInt(gpu.get()), ProcessInfo.HOST);
    } catch (NumberFormatException | IndexOutOfBoundsException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the lease has no GPU '" + gpu.get() + "'");
    }
  }

  static void refuse(EpollDomainSocketChannel channel, PoolRequestException refusal) {
    LOG.info("a program is refused: {}", refusal.getMessage());
    channel
        .writeAndFlush(
            TextMessageDecoder.encode(
                TextMessage.ofType("refused")
                    .put("cause", refusal.why().wireName())
                    .put("message", refusal.getMessage())
                    .build()))
        .addListener(ChannelFutureListener.CLOSE);
  }
}
