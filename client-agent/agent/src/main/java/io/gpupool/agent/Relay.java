// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.transport.ExactReads;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * One direction of a relayed call stream: reads from its channel only when the peer has taken what
 * was read before, in direct buffers alone. Both channels share an event loop.
 */
final class Relay extends ChannelInboundHandlerAdapter {
  /** How much is read at a time. */
  static final int READ_BYTES = 256 * 1024;

  private final Channel peer;

  private Relay(Channel peer) {
    this.peer = peer;
  }

  /** Joins two channels that read nothing by themselves; when either ends, both are closed. */
  static void join(Channel first, Channel second) {
    start(first, second);
    start(second, first);
  }

  private static void start(Channel from, Channel to) {
    from.config().setAutoRead(false);
    from.config().setRecvByteBufAllocator(new ExactReads(() -> READ_BYTES));
    from.pipeline().addLast(new Relay(to));
    from.read();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object bytes) {
    peer.writeAndFlush(bytes)
        .addListener(written -> {
          if (written.isSuccess()) {
            context.read();
          } else {
            context.close();
          }
        });
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (peer.isActive()) {
      peer.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }
}
