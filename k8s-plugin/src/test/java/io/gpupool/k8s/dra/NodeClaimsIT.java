// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.container.ContainerWiring;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListQueueReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeClaimsIT {
  @Test
  void claim_thatWaitsForTheWholeTime_hasThePoolListItsLeasesSeldom(@TempDir Path folder)
      throws Exception {
    AtomicInteger lists = new AtomicInteger();
    Server pool =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new NoLeases(lists))
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", pool.getPort()).usePlaintext().build();
    try {
      NodeClaims claims =
          new NodeClaims(
              channel,
              new ContainerWiring(Path.of("/run/gpupool/shim"), Path.of("/run/gpupool")),
              folder,
              Duration.ofSeconds(4));
      assertThatThrownBy(() -> claims.prepare("one")).hasMessageContaining("has no lease");
      assertThat(lists.get()).isBetween(1, 6);
    } finally {
      channel.shutdownNow();
      pool.shutdownNow();
    }
  }

  private static final class NoLeases extends PoolGrpc.PoolImplBase {
    private final AtomicInteger lists;

    NoLeases(AtomicInteger lists) {
      this.lists = lists;
    }

    @Override
    public void listLeases(ListRequest request, StreamObserver<ListLeasesReply> reply) {
      lists.incrementAndGet();
      reply.onNext(ListLeasesReply.getDefaultInstance());
      reply.onCompleted();
    }

    @Override
    public void listQueue(ListRequest request, StreamObserver<ListQueueReply> reply) {
      reply.onNext(ListQueueReply.getDefaultInstance());
      reply.onCompleted();
    }
  }
}
