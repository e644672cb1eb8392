// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import io.gpupool.server.tls.TlsGate;
import io.gpupool.server.tls.TlsHandOver;
import io.gpupool.transport.AcceptFailures;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.EarlyBytes;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.wire.ClientHello;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The TCP port of the call streams. It reads a handshake and passes the connection on; without TLS
 * the event loop never sees a byte of the call stream itself.
 */
public final class CallStreamPort {
  public static final int MAX_UNFINISHED = UnfinishedHandshakes.MOST;

  private static final Logger LOG = LoggerFactory.getLogger(CallStreamPort.class);

  private final Channel server;
  private final RefusalLog refusals = new RefusalLog(System::nanoTime, LOG::info);
  private final UnfinishedHandshakes unfinished = new UnfinishedHandshakes();

  /**
   * Opens the port.
   *
   * @param tls with which connections begin; null: in clear text
   * @param seals whether connections with TLS may begin in clear text, to be sealed
   * @param join takes each complete hello, on the event loop
   */
  public CallStreamPort(
      InetSocketAddress address,
      EventLoopGroup loops,
      @Nullable TlsContext tls,
      boolean seals,
      BiConsumer<ClientHello, CallStream> join) {
    server =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerSocketChannel.class)
            .handler(new AcceptFailures("port of the call streams"))
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.SO_BACKLOG, 1024)
            .childOption(ChannelOption.AUTO_READ, false)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<EpollSocketChannel>() {
                  @Override
                  protected void initChannel(EpollSocketChannel channel) {
                    StreamKeepAlive.enable(channel);
                    if (tls == null) {
                      HandshakeHandler.readClear(channel, join, unfinished, refusals);
                      return;
                    }
                    HandshakeHandler handler =
                        new HandshakeHandler(
                            channel, join, unfinished, CallStreamPort::handOver, refusals, true);
                    channel.pipeline().addLast(new TlsGate(tls, seals), handler, new EarlyBytes());
                  }
                })
            .bind(address)
            .syncUninterruptibly()
            .channel();
  }

  /** Hands over a connection that began with TLS, or in clear text to be sealed. */
  private static CompletableFuture<FileDescriptor> handOver(UnixChannel stream, boolean resumable) {
    return stream.pipeline().get(SslHandler.class) == null
        ? Detaching.detach(stream)
        : TlsHandOver.begin(stream, resumable);
  }

  public int port() {
    return ((InetSocketAddress) server.localAddress()).getPort();
  }

  public void close() {
    server.close();
    unfinished.close();
  }
}
