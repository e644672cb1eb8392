// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpHandler;
import io.gpupool.transport.AcceptFailures;
import io.gpupool.transport.ConnectionTable;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.flow.FlowControlHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A port that HTTP is spoken at. Connections are read on event loops of its own, each request is
 * answered on a virtual thread. What is silent, slow or idle is closed after a while, and at once
 * where there are too many connections.
 */
public final class HttpPort implements AutoCloseable {
  private static final int MAX_LINE_BYTES = 16 * 1024;
  private static final int MAX_HEADER_BYTES = 64 * 1024;
  private static final int BACKLOG = 1024;
  private static final int THREADS = 2;

  private final @Nullable TlsContext tls;
  private final HttpLimits limits;
  private final EventLoopGroup loops;
  private final ExecutorService threads;
  private final ConnectionTable table;
  private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private @Nullable Channel server;
  private volatile Answering answering = new Answering(exchange -> {}, List.of());

  /** A handler, and the filters before it. */
  private record Answering(HttpHandler handler, List<Filter> filters) {}

  private HttpPort(@Nullable TlsContext tls, HttpLimits limits, String threadNames) {
    this.tls = tls;
    this.limits = limits;
    loops = EventLoops.create(threadNames + "loop", THREADS);
    threads = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name(threadNames, 0).factory());
    table = new ConnectionTable(limits.connections());
  }

  /**
   * Opens the port; nothing is answered before {@link #serve}.
   *
   * @param tls what it speaks TLS with, which stays the caller's; null: it does not
   * @param threadNames what the names of its threads begin with
   * @throws IOException if it is taken
   */
  public static HttpPort open(
      InetSocketAddress address, @Nullable TlsContext tls, String threadNames) throws IOException {
    return open(address, tls, threadNames, HttpLimits.USUAL);
  }

  static HttpPort open(
      InetSocketAddress address, @Nullable TlsContext tls, String threadNames, HttpLimits limits)
      throws IOException {
    HttpPort port = new HttpPort(tls, limits, threadNames);
    try {
      port.bind(address);
      return port;
    } catch (IOException e) {
      port.close();
      throw e;
    }
  }

  private void bind(InetSocketAddress address) throws IOException {
    ChannelFuture bound =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerSocketChannel.class)
            .handler(new AcceptFailures("HTTP port"))
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.AUTO_READ, false)
            .childOption(ChannelOption.AUTO_READ, false)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<EpollSocketChannel>() {
                  @Override
                  protected void initChannel(EpollSocketChannel channel) {
                    begin(channel);
                  }
                })
            .bind(address)
            .awaitUninterruptibly();
    if (!bound.isSuccess()) {
      BindException failure = new BindException(bound.cause().getMessage());
      failure.initCause(bound.cause());
      throw failure;
    }
    server = bound.channel();
  }

  /** Answers from now on, for every path. */
  public void serve(HttpHandler handler, Filter... before) {
    answering = new Answering(handler, List.of(before));
    bound().config().setAutoRead(true);
  }

  private Channel bound() {
    return Objects.requireNonNull(server, "the port is not open");
  }

  private void begin(EpollSocketChannel channel) {
    connections.add(channel);
    table.add(channel);
    if (tls != null) {
      SslHandler encrypting = TlsEngines.accepting(tls);
      encrypting.setHandshakeTimeoutMillis(limits.headMillis());
      channel.pipeline().addLast(encrypting);
    }
    channel
        .pipeline()
        .addLast(
            new HttpServerCodec(
                new HttpDecoderConfig()
                    .setMaxInitialLineLength(MAX_LINE_BYTES)
                    .setMaxHeaderSize(MAX_HEADER_BYTES)),
            // One message for each read, so that a client's next request waits for its answer.
            new FlowControlHandler(),
            new HttpConnection(channel, table, limits, threads, this::answer));
  }

  private void answer(NettyExchange exchange) throws IOException {
    Answering now = answering;
    new Filter.Chain(now.filters(), now.handler()).doFilter(exchange);
  }

  /** The event loops that its connections are read on. */
  public EventLoopGroup eventLoops() {
    return loops;
  }

  public int port() {
    return ((InetSocketAddress) bound().localAddress()).getPort();
  }

  /** Closes the port and interrupts the answers under way. */
  @Override
  public void close() {
    threads.shutdownNow();
    awaitAnswers();
    if (server != null) {
      server.close().awaitUninterruptibly();
    }
    connections.close().awaitUninterruptibly(1, TimeUnit.SECONDS);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  /** Waits for the threads that are interrupted: they still use their connections. */
  private void awaitAnswers() {
    try {
      boolean ignored = threads.awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
