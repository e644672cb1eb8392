// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.transport.EarlyBytes;
import io.gpupool.transport.ExactReads;
import io.gpupool.transport.Relay;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.ssl.SslHandler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Connects a call stream and shakes hands. The channel it gives has read nothing beyond the
 * handshake and reads nothing until told. Runs on the channel's event loop.
 */
final class CallStreamDialer extends ChannelInboundHandlerAdapter {
  private static final int CONNECT_MILLIS = 5000;
  private static final int TLS_READ_BYTES = 16 * 1024;

  /** Longer than the pool waits for a worker to start. */
  private static final long ANSWER_SECONDS = 70;

  private final OpenedSession session;
  private final CompletableFuture<EpollSocketChannel> connected;
  private final ByteArrayOutputStream answer = new ByteArrayOutputStream();
  private int missingBytes = ServerHello.HEADER_BYTES;

  private CallStreamDialer(OpenedSession session, CompletableFuture<EpollSocketChannel> connected) {
    this.session = session;
    this.connected = connected;
  }

  /** Fails with a {@link Refusal}; cancelling closes the connection. */
  static CompletableFuture<EpollSocketChannel> dial(OpenedSession session, EventLoop loop) {
    CompletableFuture<EpollSocketChannel> connected = new CompletableFuture<>();
    CallStreamDialer dialer = new CallStreamDialer(session, connected);
    new Bootstrap()
        .group(loop)
        .channel(EpollSocketChannel.class)
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
        .option(ChannelOption.AUTO_READ, false)
        .option(ChannelOption.TCP_NODELAY, true)
        .option(ChannelOption.SO_KEEPALIVE, true)
        .option(ChannelOption.RECVBUF_ALLOCATOR, new ExactReads(dialer::nextBytes))
        .handler(
            new ChannelInitializer<EpollSocketChannel>() {
              @Override
              protected void initChannel(EpollSocketChannel channel) {
                session.tls().ifPresent(tls -> channel.pipeline().addLast(dialer.encrypting(tls)));
                channel.pipeline().addLast(dialer);
                if (session.tls().isPresent()) {
                  channel.pipeline().addLast(new EarlyBytes());
                }
              }
            })
        .connect(session.callStream())
        .addListener(done -> {
          if (!done.isSuccess()) {
            dialer.fail(
                Refusal.Cause.UNREACHABLE,
                "cannot be reached (" + done.cause().getMessage() + "); is its port open?");
          }
        });
    return connected;
  }

  private SslHandler encrypting(TlsContext tls) {
    return TlsEngines.connecting(tls, session.host(), session.callStream().getPort());
  }

  /** Over TLS bytes cannot be counted; those that are too many wait for who takes them. */
  private int nextBytes() {
    return session.tls().isPresent() ? TLS_READ_BYTES : missingBytes;
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
            () -> fail(Refusal.Cause.UNREACHABLE, "does not answer"),
            ANSWER_SECONDS,
            TimeUnit.SECONDS);
    ClientHello hello =
        new ClientHello(
            Versions.CALL_STREAM_MIN, Versions.CALL_STREAM_MAX, session.id(), session.key());
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
    ServerHello hello = ServerHello.decode(answer.toByteArray());
    if (hello.isAccepted()) {
      missingBytes = Relay.READ_BYTES;
      context.pipeline().remove(this);
      connected.complete((EpollSocketChannel) context.channel());
    } else {
      fail(
          switch (hello.status()) {
            case ServerHello.BAD_VERSION -> Refusal.Cause.PROTOCOL;
            case ServerHello.DENIED -> Refusal.Cause.DENIED;
            default -> Refusal.Cause.REFUSED;
          },
          "refuses: " + hello.text());
    }
  }

  private void take(ByteBuf bytes) throws IOException {
    int taken = Math.min(missingBytes, bytes.readableBytes());
    bytes.readBytes(answer, taken);
    missingBytes -= taken;
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    fail(Refusal.Cause.UNREACHABLE, "hung up during the handshake; see the server's log");
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    fail(
        cause instanceof WireException ? Refusal.Cause.PROTOCOL : Refusal.Cause.UNREACHABLE,
        "failed: " + TlsFailure.of(cause).orElse(cause.getMessage()));
  }

  private void fail(Refusal.Cause cause, String message) {
    connected.completeExceptionally(
        new Refusal(
            cause,
            "call stream at "
                + session.callStream().getAddress().getHostAddress()
                + ":"
                + session.callStream().getPort()
                + " "
                + message));
  }
}
