// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Keeps what comes before there is someone to take it: TLS brings whole records, so more than was
 * asked for. Passes it on when it is taken out of the pipeline. Runs on the channel's event loop.
 */
public final class EarlyBytes extends ChannelInboundHandlerAdapter {
  private final Deque<Object> kept = new ArrayDeque<>();

  @Override
  public void channelRead(ChannelHandlerContext context, Object bytes) {
    kept.add(bytes);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    kept.forEach(ReferenceCountUtil::release);
    kept.clear();
    context.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (!kept.isEmpty()) {
      kept.forEach(context::fireChannelRead);
      kept.clear();
      context.fireChannelReadComplete();
    }
  }
}
