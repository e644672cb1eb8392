// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The abstract unix socket on which workers report. A connection must start with the token of a
 * worker that this server has started, sent by that worker's process. Its handlers run on the event
 * loop and pass everything on to the control thread.
 */
public final class WorkerSocket {
  /** As long as a worker has for its start: its launcher connects, the worker itself says hello. */
  private static final long HELLO_LIMIT_SECONDS = 60;

  private static final Logger LOG = LoggerFactory.getLogger(WorkerSocket.class);

  private final Executor control;
  private final WorkerPool workers;
  private final Channel server;

  public WorkerSocket(
      UnixAddress address, EventLoopGroup loops, Executor control, WorkerPool workers) {
    this.control = control;
    this.workers = workers;
    server =
        address.listen(
            loops,
            channel ->
                channel.pipeline().addLast(new TextMessageDecoder(), new Connection(channel)));
  }

  public void close() {
    server.close();
  }

  /** One connection; {@code worker} is the control thread's. */
  private final class Connection extends WorkerConnection {
    private @Nullable Worker worker;

    Connection(EpollDomainSocketChannel channel) {
      super(channel, WorkerSocket.this.control);
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      context
          .executor()
          .schedule(
              () -> control.execute(this::closeIfUnknown), HELLO_LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    void onClosed() {
      if (worker != null) {
        worker.end();
      }
    }

    @Override
    void onMessage(TextMessage message, PeerCredentials peer) {
      if (worker == null) {
        worker =
            message.type().equals("hello")
                ? workers.authenticate(message.get("token").orElse(""), peer.pid()).orElse(null)
                : null;
        if (worker != null) {
          worker.linked(new WorkerLink(channel));
        }
        closeIfUnknown();
      } else if (message.type().equals("ready")) {
        workers.ready(worker);
      } else {
        worker.session().ifPresent(session -> session.onMessage(message));
      }
    }

    private void closeIfUnknown() {
      if (worker == null && channel.isOpen()) {
        LOG.warn("a stranger connected to the workers' control socket");
        channel.close();
      }
    }
  }
}
