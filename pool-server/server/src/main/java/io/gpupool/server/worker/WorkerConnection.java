// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.wire.TextMessage;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection with a worker. Runs on the event loop and passes everything on to the control
 * thread, which hears no more than it can.
 */
abstract class WorkerConnection extends SimpleChannelInboundHandler<TextMessage> {
  /** Messages of a worker that wait for the control thread; at most so many and one read's more. */
  private static final int MAX_UNHEARD = 64;

  private static final Logger LOG = LoggerFactory.getLogger(WorkerConnection.class);

  final EpollDomainSocketChannel channel;
  final Executor control;
  private final AtomicInteger unheard = new AtomicInteger();

  WorkerConnection(EpollDomainSocketChannel channel, Executor control) {
    this.channel = channel;
    this.control = control;
  }

  /** Handles a message. Called on the control thread. */
  abstract void onMessage(TextMessage message, PeerCredentials peer);

  /** Handles the end of the connection. Called on the control thread. */
  abstract void onClosed();

  @Override
  protected void channelRead0(ChannelHandlerContext context, TextMessage message) throws Exception {
    PeerCredentials peer = channel.peerCredentials();
    if (unheard.incrementAndGet() >= MAX_UNHEARD) {
      channel.config().setAutoRead(false);
    }
    control.execute(() -> {
      try {
        onMessage(message, peer);
      } finally {
        unheard.decrementAndGet();
        readOnIfHeard();
      }
    });
    // The last of them may have been heard just before reading was stopped.
    readOnIfHeard();
  }

  private void readOnIfHeard() {
    if (unheard.get() == 0) {
      channel.config().setAutoRead(true);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    control.execute(this::onClosed);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    LOG.warn("control socket of a worker: {}", cause.getMessage());
    context.close();
  }
}
