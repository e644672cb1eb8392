// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.server.state.etcd.Etcd;
import io.gpupool.transport.EventLoops;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A pool of three server processes over a real etcd of three members. {@code
 * -Dgpupool.several.leases=2000} is the long form.
 */
class SeveralServersIT {
  private static final int LEASES = Integer.getInteger("gpupool.several.leases", 150);
  private static final int CLIENTS = 50;
  private static final int SERVERS = 3;
  private static final long GPU_BYTES = 4L << 30;
  private static final long KILL_EACH_MILLIS = 3000;
  private static final Duration WAIT = Duration.ofMinutes(10);
  private static final Duration DRAIN = Duration.ofSeconds(120);

  @TempDir Path folder;
  private Etcd etcd;
  private final EventLoopGroup loops = EventLoops.create("storm", 1);
  private final List<Integer> ports = new ArrayList<>();
  private final List<Pool> servers = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    etcd = Etcd.start(folder, 3);
    for (int i = 0; i < SERVERS; i++) {
      ports.add(freePort());
      servers.add(server(i));
    }
    await().atMost(DRAIN).until(() -> servers.getFirst().freeBytes() == SERVERS * GPU_BYTES);
  }

  @AfterEach
  void stop() {
    servers.forEach(Pool::close);
    if (etcd != null) {
      etcd.close();
    }
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void leases_askedForAtOnceOfThreeServers_noGpuIsOverGrantedAndNoneIsLost() throws Exception {
    try (LeaseStorm storm = new LeaseStorm(CLIENTS, addresses(), loops)) {
      storm.run(LEASES, 0.25, WAIT).get(WAIT.toSeconds(), TimeUnit.SECONDS);
      requireAllServed(storm);
    }
  }

  @Test
  void leases_serversAndEtcdsLeaderAreKilled_noGpuIsOverGrantedAndNoneIsLost() throws Exception {
    Random random = new Random(1);
    try (LeaseStorm storm = new LeaseStorm(CLIENTS, addresses(), loops)) {
      CompletableFuture<Void> done = storm.run(LEASES, 0.25, WAIT);
      int kills = 0;
      do {
        int victim = random.nextInt(SERVERS);
        servers.get(victim).server().kill();
        long killedAt = System.nanoTime();
        if (kills++ == 0) {
          int leader = etcd.leader();
          etcd.kill(leader);
          Thread.sleep(1000);
          etcd.launch(leader);
        }
        servers.set(victim, server(victim));
        long spentMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killedAt);
        Thread.sleep(Math.max(0, KILL_EACH_MILLIS - spentMillis));
      } while (!done.isDone() && kills < 200);
      done.get(WAIT.toSeconds(), TimeUnit.SECONDS);
      System.out.println(kills + " servers and a leader of etcd were killed");
      requireAllServed(storm);
    }
  }

  private void requireAllServed(LeaseStorm storm) throws Exception {
    assertThat(storm.failures()).isEmpty();
    assertThat(storm.granted()).hasSize(LEASES).doesNotHaveDuplicates();
    await().atMost(DRAIN).until(() -> servers.getFirst().freeBytes() == SERVERS * GPU_BYTES);
    String member = etcd.endpoints().split(",")[0];
    ManagedChannel channel =
        NettyChannelBuilder.forTarget(member)
            .usePlaintext()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .build();
    try {
      GrantHistory.Found found = GrantHistory.check(channel, "storm", GPU_BYTES);
      assertThat(found.leases()).containsAll(new HashSet<>(storm.granted()));
      assertThat(found.left()).isEmpty();
      assertThat(found.waiting()).isZero();
      System.out.println(
          storm.granted().size()
              + " leases given and given back, at most "
              + found.mostAtOnce()
              + " at once");
    } finally {
      channel.shutdownNow();
    }
  }

  private List<String> addresses() {
    return ports.stream().map(port -> "127.0.0.1:" + port).toList();
  }

  private Pool server(int index) {
    return Pool.startAt(
        ports.get(index),
        "soft:1,mem=4Gi",
        "--name",
        "s" + index,
        "--spares",
        "0",
        "--state",
        etcd.url("storm"));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
