// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.transport.Descriptors;
import io.gpupool.wire.TextMessage;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Bounds on the messages and descriptors that wait for a worker, and its end if it reads none. */
@Timeout(60)
class WorkerLinkTest {
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
  private SocketChannel worker;
  private Channel channel;
  private WorkerLink link;

  @BeforeEach
  void connect(@TempDir Path folder) throws Exception {
    Path name = folder.resolve("control");
    CompletableFuture<Channel> accepted = new CompletableFuture<>();
    new ServerBootstrap()
        .group(loops)
        .channel(EpollServerDomainSocketChannel.class)
        .childHandler(
            new ChannelInitializer<>() {
              @Override
              protected void initChannel(Channel child) {
                accepted.complete(child);
              }
            })
        .bind(new DomainSocketAddress(name.toFile()))
        .sync();
    worker = SocketChannel.open(UnixDomainSocketAddress.of(name));
    channel = accepted.get(30, TimeUnit.SECONDS);
    link = new WorkerLink(channel);
  }

  @AfterEach
  void close() throws IOException {
    worker.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
  }

  @Test
  void send_workerDoesNotRead_closesItBeforeMuchIsKept() throws InterruptedException {
    TextMessage message = TextMessage.ofType("released").put("token", "x".repeat(1000)).build();
    for (int i = 0; i < 3000; i++) {
      link.send(message);
    }
    assertThat(channel.closeFuture().await(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void sendDescriptors_workerDoesNotRead_keepsFewOpen() throws Exception {
    TextMessage message = TextMessage.ofType("cached").put("request", "x".repeat(1000)).build();
    long before = openDescriptors();
    for (int i = 0; i < 500; i++) {
      link.send(message);
      link.send(new FileDescriptor(Descriptors.memoryFile("kernel", 16)));
    }
    assertThat(openDescriptors()).isLessThan(before + 100);
    assertThat(channel.closeFuture().await(30, TimeUnit.SECONDS)).isTrue();
    // The channel fails the messages that it holds, which closes their files, after it reports its
    // close.
    channel.eventLoop().submit(() -> {}).sync();
    assertThat(openDescriptors()).isLessThanOrEqualTo(before);
  }

  @Test
  void answer_requestIsNoNumber_isNotEchoed() {
    TextMessage request = TextMessage.ofType("cache").put("request", "9".repeat(16_000)).build();
    assertThat(WorkerLink.answer("cached", request).build().get("request")).hasValue("");
  }

  private static long openDescriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }
}
