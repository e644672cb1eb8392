// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.ExactReads;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.TextMessageReader;
import io.gpupool.wire.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reader of one connection's handshake: 64 bytes, and a message if its hello says so. It reads
 * not a byte more: what follows is the worker's. Runs on the channel's event loop.
 */
final class HandshakeHandler extends ChannelInboundHandlerAdapter implements CallStream {
  static final long LIMIT_MILLIS = 10_000;
  private static final Logger LOG = LoggerFactory.getLogger(HandshakeHandler.class);

  private final UnixChannel channel;
  private final BiConsumer<ClientHello, CallStream> join;
  private final UnfinishedHandshakes unfinished;
  private final HandOver handOver;
  private final RefusalLog refusals;
  private final boolean portSpeaksTls;
  private final ByteBuffer hello = ByteBuffer.allocate(ClientHello.BYTES);

  /** Of the message after the hello. */
  private final TextMessageReader following = new TextMessageReader();

  private @Nullable ClientHello greeting;
  private boolean isOver;
  private @Nullable ScheduledFuture<?> limit;

  /**
   * For one connection, whose handshake is unfinished from now on.
   *
   * @param handOver makes of it what the worker gets; with TLS, bytes beyond the handshake go to
   *     the next handler
   * @param portSpeaksTls whether connections are over TLS unless they are to be sealed
   */
  HandshakeHandler(
      UnixChannel channel,
      BiConsumer<ClientHello, CallStream> join,
      UnfinishedHandshakes unfinished,
      HandOver handOver,
      RefusalLog refusals,
      boolean portSpeaksTls) {
    this.channel = channel;
    this.join = join;
    this.unfinished = unfinished;
    this.handOver = handOver;
    this.refusals = refusals;
    this.portSpeaksTls = portSpeaksTls;
    unfinished.begin(channel);
  }

  /** Reads the handshake of a connection in clear text; the channel has read nothing yet. */
  static void readClear(
      UnixChannel channel,
      BiConsumer<ClientHello, CallStream> join,
      UnfinishedHandshakes unfinished,
      RefusalLog refusals) {
    HandOver detach = (stream, resumable) -> Detaching.detach(stream);
    HandshakeHandler handler =
        new HandshakeHandler(channel, join, unfinished, detach, refusals, false);
    channel.config().setAutoRead(false);
    channel.config().setRecvByteBufAllocator(new ExactReads(handler::missingBytes));
    channel.pipeline().addLast(handler);
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    limit =
        context
            .executor()
            .schedule(
                () -> refuse("no complete handshake within " + LIMIT_MILLIS / 1000 + " s"),
                LIMIT_MILLIS,
                TimeUnit.MILLISECONDS);
    context.read();
  }

  /** The hand-over of a connection to a worker. */
  interface HandOver {
    /** Begins it; completes with what the worker gets. */
    CompletableFuture<FileDescriptor> begin(UnixChannel channel, boolean resumable);
  }

  /** How much of the handshake is still to come, as far as is known. */
  int missingBytes() {
    return greeting == null ? hello.remaining() : following.missingBytes();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object value) {
    ByteBuf bytes = (ByteBuf) value;
    if (isOver) {
      context.fireChannelRead(bytes);
      return;
    }
    try {
      Optional<ClientHello> complete = take(bytes);
      if (complete.isEmpty()) {
        context.read();
        return;
      }
      isOver = true;
      if (bytes.isReadable()) {
        context.fireChannelRead(bytes.retain());
      }
      finish();
      join.accept(complete.get(), this);
    } catch (WireException e) {
      isOver = true;
      refuse(String.valueOf(e.getMessage()));
    } finally {
      bytes.release();
    }
  }

  /** Takes what is of the handshake; empty: some is still to come. */
  private Optional<ClientHello> take(ByteBuf bytes) throws WireException {
    ClientHello read = greeting;
    if (read == null) {
      int taken = Math.min(bytes.readableBytes(), hello.remaining());
      bytes.readBytes(hello.limit(hello.position() + taken));
      hello.limit(hello.capacity());
      if (!ClientHello.canStartWith(hello.duplicate().flip())) {
        throw new WireException(
            "not a gpupool call stream (bad magic); the control port is another");
      }
      if (hello.hasRemaining()) {
        return Optional.empty();
      }
      read = ClientHello.decode(hello.array());
      greeting = read;
    }
    if (!read.hasMessage()) {
      return Optional.of(read);
    }
    ByteBuffer rest = bytes.nioBuffer();
    Optional<TextMessage> message = following.read(rest);
    bytes.skipBytes(bytes.readableBytes() - rest.remaining());
    return message.map(read::with);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    finish();
    context.fireChannelInactive();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause.getCause() instanceof SSLException) {
      refusals.refused(from(), String.valueOf(cause.getCause().getMessage()));
    }
    LOG.debug("call stream from {}: {}", from(), cause.getMessage());
    context.close();
  }

  @Override
  public boolean needsSeal() {
    return portSpeaksTls && channel.pipeline().get(SslHandler.class) == null;
  }

  @Override
  public boolean isLocal() {
    return channel instanceof EpollDomainSocketChannel;
  }

  private Object from() {
    return isLocal() ? "this machine" : channel.remoteAddress();
  }

  @Override
  public void refuse(ServerHello answer) {
    refusals.refused(from(), answer.text());
    channel
        .writeAndFlush(Unpooled.wrappedBuffer(answer.encode()))
        .addListener(ChannelFutureListener.CLOSE);
  }

  @Override
  public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
    if (resumable) {
      StreamKeepAlive.enableResumable(channel);
    }
    CompletableFuture<FileDescriptor> detached = new CompletableFuture<>();
    channel
        .writeAndFlush(Unpooled.wrappedBuffer(answer.encode()))
        .addListener(sent -> {
          if (sent.isSuccess()) {
            handOver
                .begin(channel, resumable)
                .whenComplete((descriptor, failure) -> {
                  if (failure == null) {
                    detached.complete(descriptor);
                  } else {
                    detached.completeExceptionally(failure);
                  }
                });
          } else {
            detached.completeExceptionally(sent.cause());
          }
        });
    return detached;
  }

  private void refuse(String reason) {
    finish();
    refuse(ServerHello.refused(ServerHello.BAD_HANDSHAKE, reason));
  }

  private void finish() {
    if (limit != null) {
      limit.cancel(false);
    }
    unfinished.finish(channel);
  }
}
