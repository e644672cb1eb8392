// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a relayed call stream: reads from its channel only when the peer has taken what
 * was read before. Both channels share an event loop.
 */
public final class Relay extends ChannelInboundHandlerAdapter {
  /** The most that is read at a time. */
  public static final int READ_BYTES = 256 * 1024;

  private final Channel peer;

  /** The last write of what one read has brought. */
  private @Nullable ChannelFuture last;

  private Relay(Channel peer) {
    this.peer = peer;
  }

  /** Joins two channels that read nothing by themselves; when either ends, both are closed. */
  public static void join(Channel first, Channel second) {
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
    last = peer.write(bytes);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    ChannelFuture written = last;
    if (written == null) {
      return;
    }
    last = null;
    peer.flush();
    written.addListener(done -> {
      if (done.isSuccess()) {
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
