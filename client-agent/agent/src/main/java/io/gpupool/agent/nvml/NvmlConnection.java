// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.ProgramLease;
import io.gpupool.agent.lease.ProgramRefusal;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.runtime.ProcessInfo;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection of a program that reads its lease through NVML. It answers requests one after the
 * other for as long as the program is connected. Opens no session. Runs on its channel's event
 * loop.
 */
public final class NvmlConnection extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(NvmlConnection.class);

  private final EpollDomainSocketChannel channel;
  private final ProgramLease lease;
  private final LeaseViews views;
  private final BooleanSupplier agentEnds;
  private boolean answering;

  /**
   * Serves a connection.
   *
   * @param agentEnds whether it is the agent that lets the program go
   */
  public NvmlConnection(
      EpollDomainSocketChannel channel,
      ProgramLease lease,
      LeaseViews views,
      BooleanSupplier agentEnds) {
    this.channel = channel;
    this.lease = lease;
    this.views = views;
    this.agentEnds = agentEnds;
    channel.closeFuture().addListener(closed -> end());
  }

  private void end() {
    if (agentEnds.getAsBoolean()) {
      lease.releaseHold();
      lease.forget();
    } else {
      lease.release().whenComplete((done, failure) -> lease.forget());
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) {
    if (!answering && value instanceof TextMessage message && message.type().equals("nvml")) {
      answer(message);
    } else {
      ReferenceCountUtil.release(value);
      LOG.warn("unexpected message on a program's NVML connection, which is closed");
      channel.close();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    LOG.debug("connection of a program: {}", cause.getMessage());
    context.close();
  }

  public void answer(TextMessage question) {
    answering = true;
    lease
        .handle()
        .thenComposeAsync(
            known -> views.of(lease.pool(), known).thenApply(view -> answer(question, known, view)),
            channel.eventLoop())
        .whenCompleteAsync(
            (answer, failure) -> {
              answering = false;
              if (failure == null) {
                channel.writeAndFlush(TextMessageDecoder.encode(answer));
              } else {
                ProgramRefusal.send(channel, PoolRequestException.of(failure, lease.address()));
              }
            },
            channel.eventLoop());
  }

  /** The lease as a whole, or the GPU that was asked for. */
  private TextMessage answer(
      TextMessage question, AttachRequest.LeaseHandle known, DescribeLeaseReply view) {
    Optional<String> gpu = question.get("gpu");
    if (gpu.isEmpty()) {
      return GpuView.lease(view, lease.isOwn() ? known.text() : null);
    }
    try {
      return GpuView.gpu(view, Integer.parseInt(gpu.get()), ProcessInfo.HOST);
    } catch (NumberFormatException | IndexOutOfBoundsException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the lease has no GPU '" + gpu.get() + "'");
    }
  }
}
