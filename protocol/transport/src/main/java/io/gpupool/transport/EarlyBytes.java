// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A handler that keeps bytes for which there is no reader yet: TLS delivers whole records, more
 * than was asked for. It passes them on when it leaves the pipeline. Runs on the channel's event
 * loop.
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
