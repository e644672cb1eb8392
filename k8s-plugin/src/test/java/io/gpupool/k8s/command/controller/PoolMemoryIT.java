// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.transport.EventLoops;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PoolMemoryIT {
  private final EventLoopGroup loops = EventLoops.create("test", 1);

  @AfterEach
  void close() {
    loops.shutdownGracefully();
  }

  @Test
  void memory_poolStartsAfterItWasAsked_isKnownLongBeforeTheNextQuestionIsDue() throws Exception {
    InetSocketAddress address;
    PoolMemory memory;
    // A pool that ends each connection, and cannot be another process.
    try (ServerSocket notYet = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      address = (InetSocketAddress) notYet.getLocalSocketAddress();
      memory =
          PoolMemory.ask(
              new PoolConnections(
                  new PoolAddress(address.getHostString(), address.getPort()),
                  null,
                  ClientSecurity.DEFAULT,
                  loops),
              Duration.ofHours(1));
      notYet.accept().close();
      notYet.accept().close();
      assertThat(memory.get()).isEmpty();
      assertThat(memory.isReached()).isFalse();
    }
    Server pool = start(address);
    try (memory) {
      await().untilAsserted(() -> assertThat(memory.get()).isEqualTo(OptionalLong.of(2L << 30)));
      assertThat(memory.isReached()).isTrue();
    } finally {
      pool.shutdownNow();
    }
  }

  private Server start(InetSocketAddress address) throws IOException {
    return NettyServerBuilder.forAddress(address)
        .channelType(EpollServerSocketChannel.class)
        .bossEventLoopGroup(loops)
        .workerEventLoopGroup(loops)
        .directExecutor()
        .addService(
            new PoolGrpc.PoolImplBase() {
              @Override
              public void listGpus(ListRequest request, StreamObserver<ListGpusReply> caller) {
                ListGpusReply.Builder reply = ListGpusReply.newBuilder();
                for (long gibibytes = 1; gibibytes <= 2; gibibytes++) {
                  reply.addGpus(GpuInfo.newBuilder().setMemoryBytes(gibibytes << 30));
                }
                caller.onNext(reply.build());
                caller.onCompleted();
              }
            })
        .build()
        .start();
  }
}
