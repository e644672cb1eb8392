// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.dial;

import io.gpupool.transport.EarlyBytes;
import io.gpupool.transport.ExactReads;
import io.gpupool.transport.Relay;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.transport.tls.TlsFailure;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.WireException;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects a call stream and shakes hands. The channel it gives has read nothing beyond the
 * handshake and reads nothing until told. Runs on the channel's event loop.
 */
public final class CallStreamDialer extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(CallStreamDialer.class);
  private static final int CONNECT_MILLIS = 5000;
  private static final int TLS_READ_BYTES = 16 * 1024;

  /** Longer than the pool waits for a worker to start. */
  private static final long ANSWER_SECONDS = 70;

  private static final ChannelHandler BREAKS = new Breaks();

  private final String where;
  private final boolean isEncrypted;
  private final ClientHello hello;
  private final CompletableFuture<UnixChannel> connected;
  private final ByteArrayOutputStream answer = new ByteArrayOutputStream();
  private int missingBytes = ServerHello.HEADER_BYTES;

  private CallStreamDialer(
      String where,
      boolean isEncrypted,
      ClientHello hello,
      CompletableFuture<UnixChannel> connected) {
    this.where = where;
    this.isEncrypted = isEncrypted;
    this.hello = hello;
    this.connected = connected;
  }

  /**
   * A call-stream port.
   *
   * @param address with the host's address looked up
   * @param host what the certificate of the server must be of
   * @param tls with what the connection begins; null: in clear text
   */
  public record Target(InetSocketAddress address, String host, @Nullable TlsContext tls) {
    /** Returns whether connections begin with TLS. */
    public boolean isEncrypted() {
      return tls != null;
    }
  }

  /**
   * Connects and says hello.
   *
   * @return fails with a {@link DialException}; cancelling closes the connection
   */
  public static CompletableFuture<UnixChannel> dial(
      Target target, ClientHello hello, EventLoop loop) {
    CompletableFuture<UnixChannel> connected = new CompletableFuture<>();
    dial(target, hello, loop, connected);
    return connected;
  }

  /**
   * Connects by a unix socket of this machine, or by the port where nothing listens there that this
   * process may connect to, and says hello. What follows over a unix socket is in clear text.
   *
   * @return an {@link EpollDomainSocketChannel} if it was the unix socket; fails with a {@link
   *     DialException}; cancelling closes the connection
   */
  public static CompletableFuture<UnixChannel> dial(
      UnixAddress local, Target otherwise, ClientHello hello, EventLoop loop) {
    CompletableFuture<UnixChannel> connected = new CompletableFuture<>();
    CallStreamDialer dialer = new CallStreamDialer(local.toString(), false, hello, connected);
    dialer
        .bootstrap(loop)
        .channel(EpollDomainSocketChannel.class)
        .handler(
            new ChannelInitializer<EpollDomainSocketChannel>() {
              @Override
              protected void initChannel(EpollDomainSocketChannel channel) {
                channel.pipeline().addLast(dialer, BREAKS);
              }
            })
        .connect(local.socketAddress())
        .addListener(done -> {
          if (!done.isSuccess()) {
            LOG.debug(
                "no call stream by {} ({}); by {} instead",
                local,
                done.cause().getMessage(),
                otherwise.address());
            dial(otherwise, hello, loop, connected);
          }
        });
    return connected;
  }

  private static void dial(
      Target target, ClientHello hello, EventLoop loop, CompletableFuture<UnixChannel> connected) {
    InetSocketAddress address = target.address();
    CallStreamDialer dialer =
        new CallStreamDialer(
            address.getAddress().getHostAddress() + ":" + address.getPort(),
            target.isEncrypted(),
            hello,
            connected);
    dialer
        .bootstrap(loop)
        .channel(EpollSocketChannel.class)
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
        .option(ChannelOption.TCP_NODELAY, true)
        .handler(
            new ChannelInitializer<EpollSocketChannel>() {
              @Override
              protected void initChannel(EpollSocketChannel channel) {
                StreamKeepAlive.enable(channel);
                if (target.tls() != null) {
                  channel.pipeline().addLast(encrypting(target, target.tls()));
                }
                channel.pipeline().addLast(dialer);
                if (target.isEncrypted()) {
                  channel.pipeline().addLast(new EarlyBytes());
                }
                channel.pipeline().addLast(BREAKS);
              }
            })
        .connect(address)
        .addListener(done -> {
          if (!done.isSuccess()) {
            dialer.fail(
                DialException.Why.UNREACHABLE,
                "cannot be reached (" + done.cause().getMessage() + "); is its port open?");
          }
        });
  }

  private Bootstrap bootstrap(EventLoop loop) {
    return new Bootstrap()
        .group(loop)
        .option(ChannelOption.AUTO_READ, false)
        .option(ChannelOption.RECVBUF_ALLOCATOR, new ExactReads(this::nextBytes));
  }

  private static SslHandler encrypting(Target target, TlsContext tls) {
    return TlsEngines.connecting(tls, target.host(), target.address().getPort());
  }

  /** Over TLS bytes cannot be counted; those that are too many wait for who takes them. */
  private int nextBytes() {
    return isEncrypted ? TLS_READ_BYTES : missingBytes;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    connected.whenComplete((channel, failure) -> {
      if (failure != null) {
        context.close();
      }
    });
    context
        .executor()
        .schedule(
            () -> fail(DialException.Why.UNREACHABLE, "does not answer"),
            ANSWER_SECONDS,
            TimeUnit.SECONDS);
    context.writeAndFlush(Unpooled.wrappedBuffer(hello.encode()));
    context.read();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) throws Exception {
    ByteBuf bytes = (ByteBuf) value;
    try {
      take(bytes);
      if (missingBytes == 0 && answer.size() == ServerHello.HEADER_BYTES) {
        missingBytes = ServerHello.textBytes(answer.toByteArray());
        take(bytes);
      }
      if (bytes.isReadable()) {
        context.fireChannelRead(bytes.retain());
      }
    } finally {
      bytes.release();
    }
    if (missingBytes > 0) {
      context.read();
      return;
    }
    ServerHello said = ServerHello.decode(answer.toByteArray());
    if (said.isAccepted()) {
      missingBytes = Relay.READ_BYTES;
      context.pipeline().remove(this);
      connected.complete((UnixChannel) context.channel());
    } else {
      fail(
          switch (said.status()) {
            case ServerHello.BAD_VERSION -> DialException.Why.PROTOCOL;
            case ServerHello.DENIED -> DialException.Why.DENIED;
            case ServerHello.BUSY -> DialException.Why.UNREACHABLE;
            default -> DialException.Why.REFUSED;
          },
          "refuses: " + said.text());
    }
  }

  private void take(ByteBuf bytes) throws IOException {
    int taken = Math.min(missingBytes, bytes.readableBytes());
    bytes.readBytes(answer, taken);
    missingBytes -= taken;
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    fail(DialException.Why.BROKEN, "hung up during the handshake; see the server's log");
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    fail(
        switch (cause) {
          case WireException _ -> DialException.Why.PROTOCOL;
          case SSLException _ -> DialException.Why.UNREACHABLE;
          case IOException _ -> DialException.Why.BROKEN;
          default -> DialException.Why.UNREACHABLE;
        },
        "failed: " + TlsFailure.of(cause).orElse(cause.getMessage()));
  }

  private void fail(DialException.Why why, String message) {
    connected.completeExceptionally(
        new DialException(why, "call stream at " + where + " " + message));
  }

  /** The end of a connection that breaks when its handshake is over. */
  @ChannelHandler.Sharable
  private static final class Breaks extends ChannelInboundHandlerAdapter {
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }
}
