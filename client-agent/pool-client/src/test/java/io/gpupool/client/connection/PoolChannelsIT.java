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
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class PoolChannelsIT {
  private static final int LEASES = 20_000;

  private final EventLoopGroup loops = EventLoops.create("pool-channels-test", 1);
  private Server server;
  private ManagedChannel channel;

  @BeforeEach
  void connect() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new ManyLeases())
            .build()
            .start();
    channel =
        PoolChannels.open(
            new PoolAddress("127.0.0.1", server.getPort()), null, ClientSecurity.DEFAULT, loops);
  }

  @AfterEach
  void close() {
    channel.shutdownNow();
    server.shutdownNow();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private ListLeasesReply leases() {
    return PoolGrpc.newBlockingStub(channel)
        .withDeadlineAfter(30, TimeUnit.SECONDS)
        .listLeases(ListRequest.getDefaultInstance());
  }

  @Test
  void leases_tensOfThousands_areAllTold() {
    assertThat(leases().getLeasesCount()).isEqualTo(LEASES);
  }

  @Test
  @Timeout(60)
  void connection_thatIsIdle_isProbedByTheKernelAfterTwoSeconds() throws IOException {
    var ignored = leases();
    Optional<Long> untilProbe = Optional.empty();
    while (untilProbe.isEmpty()) {
      untilProbe = hundredthsUntilProbe(server.getPort());
    }
    assertThat(untilProbe.get()).isLessThanOrEqualTo(200);
  }

  /** As the kernel tells of the connection to a port; empty: it waits for something else now. */
  private static Optional<Long> hundredthsUntilProbe(int port) throws IOException {
    String to = ":%04X".formatted(port);
    List<String[]> sockets = new ArrayList<>();
    for (String file : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
      Files.readAllLines(Path.of(file)).forEach(line -> sockets.add(line.strip().split(" +")));
    }
    return sockets.stream()
        .filter(fields -> fields[2].endsWith(to) && fields[3].equals("01"))
        .map(fields -> fields[5].split(":"))
        .filter(timer -> timer[0].equals("02"))
        .map(timer -> Long.parseLong(timer[1], 16))
        .findFirst();
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
