// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static io.gpupool.control.v1.GpuInfo.Health.HEALTH_HEALTHY;
import static io.gpupool.control.v1.GpuInfo.Health.HEALTH_UNHEALTHY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.k8s.kubelet.KubeletSocket;
import io.gpupool.transport.EventLoops;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PoolGpusIT {
  @TempDir Path folder;

  private final EventLoopGroup loops = EventLoops.create("test", 1);
  private final Pool pool = new Pool();
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void startPool() throws IOException {
    Path socket = folder.resolve("pool.sock");
    server =
        NettyServerBuilder.forAddress(new DomainSocketAddress(socket.toString()))
            .channelType(EpollServerDomainSocketChannel.class)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .directExecutor()
            .addService(pool)
            .build()
            .start();
    channel = new KubeletSocket(socket).channel(loops);
  }

  @AfterEach
  void stopPool() {
    channel.shutdownNow();
    server.shutdownNow();
    loops.shutdownGracefully();
  }

  @Test
  void gpus_poolAnswersFailsAndAnswersAgain_areKnownUnknownAndKnown() {
    try (PoolGpus gpus = PoolGpus.ask(channel, Duration.ofMillis(100), loops.next())) {
      List<OptionalInt> told = new CopyOnWriteArrayList<>();
      PoolState.Subscription subscription = gpus.onChange(() -> told.add(gpus.healthyGpus()));
      pool.reply(List.of(HEALTH_HEALTHY, HEALTH_UNHEALTHY, HEALTH_HEALTHY));
      await().until(() -> gpus.healthyGpus().equals(OptionalInt.of(2)));
      pool.fail();
      await().until(() -> gpus.healthyGpus().isEmpty());
      pool.reply(List.of(HEALTH_HEALTHY));
      await().until(() -> gpus.healthyGpus().equals(OptionalInt.of(1)));
      await().until(() -> told.size() == 3);
      assertThat(told).containsExactly(OptionalInt.of(2), OptionalInt.empty(), OptionalInt.of(1));
      subscription.close();
      pool.reply(List.of());
      await().until(() -> gpus.healthyGpus().equals(OptionalInt.of(0)));
      assertThat(told).hasSize(3);
    }
  }

  private static final class Pool extends PoolGrpc.PoolImplBase {
    private List<GpuInfo.Health> health = List.of();
    private boolean fails = true;

    synchronized void reply(List<GpuInfo.Health> now) {
      health = now;
      fails = false;
    }

    synchronized void fail() {
      fails = true;
    }

    @Override
    public synchronized void listGpus(ListRequest request, StreamObserver<ListGpusReply> caller) {
      if (fails) {
        caller.onError(Status.UNAVAILABLE.asRuntimeException());
        return;
      }
      ListGpusReply.Builder reply = ListGpusReply.newBuilder();
      health.forEach(state -> reply.addGpus(GpuInfo.newBuilder().setHealth(state)));
      caller.onNext(reply.build());
      caller.onCompleted();
    }
  }
}
