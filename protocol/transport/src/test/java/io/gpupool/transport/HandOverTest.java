// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.wire.TextMessage;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.DomainSocketReadMode;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannelOption;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HandOverTest {
  private final EventLoopGroup loops = EventLoops.create("test", 1);

  @AfterEach
  void stop() throws Exception {
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
  }

  @Test
  void detach_connectionWithDataUnderWay_peerNoticesNothing() throws Exception {
    BlockingQueue<Object> accepted = new LinkedBlockingQueue<>();
    Channel server =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerSocketChannel.class)
            .childOption(ChannelOption.AUTO_READ, false)
            .childHandler(queueing(accepted))
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .sync()
            .channel();
    try (Socket client = new Socket()) {
      client.setSoTimeout(5000);
      client.connect(server.localAddress());
      client.getOutputStream().write("early".getBytes(StandardCharsets.UTF_8));
      EpollSocketChannel channel = (EpollSocketChannel) accepted.poll(60, TimeUnit.SECONDS);
      FileDescriptor detached = Detaching.detach(channel).get(60, TimeUnit.SECONDS);
      assertThat(channel.closeFuture().await(5000)).isTrue();
      try {
        byte[] read = new byte[5];
        ByteBuffer buffer = ByteBuffer.allocateDirect(16);
        assertThat(detached.read(buffer, 0, 16)).isEqualTo(5);
        buffer.get(0, read);
        assertThat(new String(read, StandardCharsets.UTF_8)).isEqualTo("early");
        ByteBuffer answer = ByteBuffer.allocateDirect(1).put(0, (byte) 'x');
        assertThat(detached.write(answer, 0, 1)).isEqualTo(1);
        assertThat(client.getInputStream().read()).isEqualTo('x');
      } finally {
        detached.close();
      }
      assertThat(client.getInputStream().read()).isEqualTo(-1);
    }
    server.close().sync();
  }

  @Test
  void abstractSocket_messageThenDescriptor_bothArriveWithThePeersPid() throws Exception {
    UnixAddress address = new UnixAddress("@gpupool-test-" + ProcessHandle.current().pid());
    BlockingQueue<Object> received = new LinkedBlockingQueue<>();
    Channel server =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerDomainSocketChannel.class)
            .childHandler(
                new ChannelInitializer<EpollDomainSocketChannel>() {
                  @Override
                  protected void initChannel(EpollDomainSocketChannel channel) {
                    channel
                        .pipeline()
                        .addLast(new TextMessageDecoder())
                        .addLast(
                            new ChannelInboundHandlerAdapter() {
                              @Override
                              public void channelRead(ChannelHandlerContext context, Object value)
                                  throws Exception {
                                received.add(value);
                                if (value instanceof TextMessage) {
                                  received.add(channel.peerCredentials().pid());
                                  channel
                                      .config()
                                      .setReadMode(DomainSocketReadMode.FILE_DESCRIPTORS);
                                  channel.writeAndFlush(
                                      TextMessageDecoder.encode(
                                          TextMessage.ofType("next").build()));
                                }
                              }
                            });
                  }
                })
            .bind(address.socketAddress())
            .sync()
            .channel();
    BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    Channel client =
        new Bootstrap()
            .group(loops)
            .channel(EpollDomainSocketChannel.class)
            .option(UnixChannelOption.DOMAIN_SOCKET_READ_MODE, DomainSocketReadMode.BYTES)
            .handler(
                new ChannelInitializer<EpollDomainSocketChannel>() {
                  @Override
                  protected void initChannel(EpollDomainSocketChannel channel) {
                    channel.pipeline().addLast(new TextMessageDecoder(), queueingReads(answers));
                  }
                })
            .connect(address.socketAddress())
            .sync()
            .channel();
    TextMessage hello = TextMessage.ofType("hello").put("a", "b").build();
    client.writeAndFlush(TextMessageDecoder.encode(hello)).sync();
    assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo(hello);
    assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo((int) ProcessHandle.current().pid());
    assertThat(answers.poll(60, TimeUnit.SECONDS)).isEqualTo(TextMessage.ofType("next").build());

    FileDescriptor memory = new FileDescriptor(Descriptors.memoryFile("test", 4096));
    client.writeAndFlush(memory).sync();
    FileDescriptor passed = (FileDescriptor) received.poll(60, TimeUnit.SECONDS);
    assertThat(passed).isNotNull();
    assertThat(Files.size(Path.of("/proc/self/fd/" + passed.intValue()))).isEqualTo(4096);
    passed.close();
    memory.close();
    assertThat(Files.exists(Path.of(address.text()))).isFalse();
    client.close().sync();
    server.close().sync();
  }

  private static ChannelInitializer<Channel> queueing(BlockingQueue<Object> channels) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        channels.add(channel);
      }
    };
  }

  private static ChannelInboundHandlerAdapter queueingReads(BlockingQueue<Object> values) {
    return new ChannelInboundHandlerAdapter() {
      @Override
      public void channelRead(ChannelHandlerContext context, Object value) {
        values.add(value);
      }
    };
  }
}
