// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A port of call streams that shakes hands and then sends back what it receives. */
final class EchoPort implements AutoCloseable {
  private final Set<ByteString> keys = ConcurrentHashMap.newKeySet();
  private final ChannelGroup streams = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final EventLoopGroup loops = EventLoops.create("echo-port", 1);
  private final AtomicInteger breaking = new AtomicInteger();
  private final AtomicInteger busy = new AtomicInteger();
  private final AtomicInteger local = new AtomicInteger();
  private final ChannelGroup sockets = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final Channel server;

  EchoPort(TlsFiles files) throws IOException {
    TlsContext tls = files.areNone() ? null : TlsContext.of(files);
    server =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerSocketChannel.class)
            .childHandler(
                new ChannelInitializer<EpollSocketChannel>() {
                  @Override
                  protected void initChannel(EpollSocketChannel channel) {
                    streams.add(channel);
                    if (tls != null) {
                      channel.pipeline().addLast(TlsEngines.accepting(tls));
                    }
                    channel.pipeline().addLast(new Handshake());
                  }
                })
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .syncUninterruptibly()
            .channel();
  }

  /** Takes streams by a unix socket, too. */
  void listen(UnixAddress address) {
    sockets.add(
        address.listen(
            loops,
            channel -> {
              local.incrementAndGet();
              streams.add(channel);
              channel.pipeline().addLast(new Handshake());
            }));
  }

  /** Returns how many streams have come by unix sockets. */
  int localStreams() {
    return local.get();
  }

  int port() {
    return ((InetSocketAddress) server.localAddress()).getPort();
  }

  /** Takes one connection by this key. */
  void accept(ByteString session, ByteString key) {
    keys.add(session.concat(key));
  }

  /** Breaks so many connections before it answers. */
  void breakNext(int connections) {
    breaking.set(connections);
  }

  /** Refuses so many connections as one that is about to stop. */
  void refuseNext(int connections) {
    busy.set(connections);
  }

  void cut() {
    streams.close().awaitUninterruptibly();
  }

  @Override
  public void close() {
    server.close();
    sockets.close().awaitUninterruptibly();
    cut();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private final class Handshake extends ByteToMessageDecoder {
    @Override
    protected void decode(ChannelHandlerContext context, ByteBuf bytes, List<Object> out)
        throws Exception {
      if (bytes.readableBytes() < ClientHello.BYTES) {
        return;
      }
      if (breaking.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        bytes.skipBytes(bytes.readableBytes());
        context.close();
        return;
      }
      ClientHello hello =
          ClientHello.decode(ByteBufUtil.getBytes(bytes.readBytes(ClientHello.BYTES)));
      if (busy.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        refuse(context, ServerHello.refused(ServerHello.BUSY, "the server is stopping"));
        return;
      }
      if (!keys.remove(
          ByteString.copyFrom(hello.session().bytes())
              .concat(ByteString.copyFrom(hello.key().bytes())))) {
        refuse(context, ServerHello.refused(ServerHello.BAD_SESSION, "no such session"));
        return;
      }
      context.writeAndFlush(Unpooled.wrappedBuffer(ServerHello.accepted(1).encode()));
      context.pipeline().replace(this, null, new Echo(hello.resumes()));
    }
  }

  private static void refuse(ChannelHandlerContext context, ServerHello refusal) {
    context
        .writeAndFlush(Unpooled.wrappedBuffer(refusal.encode()))
        .addListener(ChannelFutureListener.CLOSE);
  }

  /** Tells for each line whether the connection resumes its session. */
  private static final class Echo extends ChannelInboundHandlerAdapter {
    private final ByteBuf prefix;

    Echo(boolean resumes) {
      prefix = Unpooled.copiedBuffer(resumes ? "again " : "", UTF_8);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      context.writeAndFlush(Unpooled.wrappedBuffer(prefix.retainedDuplicate(), (ByteBuf) bytes));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }
}
