// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.transport.EventLoops;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PoolChannelsIT {
  private static final int LEASES = 20_000;

  @Test
  void leases_tensOfThousands_areAllTold() throws Exception {
    EventLoopGroup loops = EventLoops.create("pool-channels-test", 1);
    Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new ManyLeases())
            .build()
            .start();
    ManagedChannel channel =
        PoolChannels.open(
            new PoolAddress("127.0.0.1", server.getPort()), null, ClientSecurity.DEFAULT, loops);
    try {
      ListLeasesReply leases =
          PoolGrpc.newBlockingStub(channel)
              .withDeadlineAfter(30, TimeUnit.SECONDS)
              .listLeases(ListRequest.getDefaultInstance());
      assertThat(leases.getLeasesCount()).isEqualTo(LEASES);
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  /** With as much of each as a pod's has. */
  private static final class ManyLeases extends PoolGrpc.PoolImplBase {
    @Override
    public void listLeases(ListRequest request, StreamObserver<ListLeasesReply> reply) {
      LeaseInfo lease = LeaseInfo.newBuilder().setId("L".repeat(400)).build();
      reply.onNext(
          ListLeasesReply.newBuilder().addAllLeases(Collections.nCopies(LEASES, lease)).build());
      reply.onCompleted();
    }
  }
}
