// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.FreePort;
import io.gpupool.server.state.etcd.Cut;
import io.gpupool.server.state.etcd.Etcd;
import io.gpupool.transport.EventLoops;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
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

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir static Path folder;
  private static Etcd etcd;
  private static EventLoopGroup loops;
  private static final List<Integer> ports = new ArrayList<>();
  private static final List<Pool> servers = new CopyOnWriteArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    loops = EventLoops.create("storm", 1);
    etcd = Etcd.start(folder, 3);
    for (int i = 0; i < SERVERS; i++) {
      ports.add(FreePort.find());
    }
    servers.addAll(
        IntStream.range(0, SERVERS).parallel().mapToObj(SeveralServersIT::server).toList());
    await().atMost(DRAIN).until(() -> servers.getFirst().freeBytes() == SERVERS * GPU_BYTES);
  }

  @AfterAll
  static void stop() {
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
      List<CompletableFuture<Void>> restarts = new ArrayList<>();
      restarts.addAll(Collections.nCopies(SERVERS, CompletableFuture.completedFuture(null)));
      do {
        long beganAt = System.nanoTime();
        List<Integer> up =
            IntStream.range(0, SERVERS).filter(i -> restarts.get(i).isDone()).boxed().toList();
        // One is left to go on with.
        if (up.size() > 1) {
          int victim = up.get(random.nextInt(up.size()));
          servers.get(victim).server().kill();
          restarts.set(victim, CompletableFuture.runAsync(() -> restart(victim)));
          if (kills++ == 0) {
            int leader = etcd.leader();
            etcd.kill(leader);
            Thread.sleep(1000);
            etcd.launch(leader);
          }
        }
        long spentMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganAt);
        Thread.sleep(Math.max(0, KILL_EACH_MILLIS - spentMillis));
      } while (!done.isDone());
      for (CompletableFuture<Void> restart : restarts) {
        restart.get(DRAIN.toSeconds(), TimeUnit.SECONDS);
      }
      done.get(WAIT.toSeconds(), TimeUnit.SECONDS);
      System.out.println(kills + " servers and a leader of etcd were killed");
      requireAllServed(storm);
    }
  }

  @Test
  void server_cutOffFromEtcd_grantsNothingSaysSoAndItsSessionsGoOn() throws Exception {
    try (Cut cut = Cut.before(etcd.endpoints().split(",")[0]);
        Pool alone =
            start(0, "cut", "etcd://127.0.0.1:" + cut.port() + "/storm", "--etcd-ttl", "4")) {
      String[] there = {"-m", "1Gi", "--select", "server=cut"};
      try (Program holder = alone.run(there, "sh", "-c", "echo held; exec cat").start()) {
        holder.awaitLine("held"::equals);
        assertThat(ready(alone)).isEqualTo(200);
        cut.sever();
        await().atMost(DRAIN).until(() -> ready(alone) == 503);
        Program.Ended refused = alone.run(there, "true").run();
        assertThat(refused.status()).isEqualTo(69);
        assertThat(refused.errors()).contains("lost its connection to etcd");
        await()
            .atMost(DRAIN)
            .until(() ->
                servers
                    .getFirst()
                    .gpupool("top")
                    .output()
                    .lines()
                    .noneMatch(line -> line.startsWith("cut ")));
        assertThat(holder.isAlive()).isTrue();
        cut.heal();
        await().atMost(DRAIN).until(() -> ready(alone) == 200);
        await()
            .atMost(DRAIN)
            .until(() -> servers.getFirst().freeBytes() == SERVERS * GPU_BYTES + GPU_BYTES * 3 / 4);
        assertThat(alone.run(there, "true").run().status()).isZero();
        holder.endInput();
        assertThat(holder.awaitEnd().status()).isZero();
      }
    }
  }

  @Test
  void program_onAnotherServersGpu_isSeenAndEndedThroughThisOne() throws Exception {
    Pool here = servers.get(0);
    Pool there = servers.get(1);
    try (Tenant tenant = Tenant.start(here, "-m", "1Gi", "--select", "server=s1")) {
      SessionInfo session = there.sessionOf(tenant.pid());
      await()
          .atMost(DRAIN)
          .until(() ->
              here.sessions().stream().anyMatch(s -> s.getId().equals(session.getId()))
                  && here.leases().stream().anyMatch(lease -> lease.getSessions() == 1));
      String own = "gpupool_sessions{state=\"attached\"} ";
      assertThat(rest(here, "GET", "/metrics", "").body()).contains(own + "0.0");
      assertThat(rest(there, "GET", "/metrics", "").body()).contains(own + "1.0");
      String path = "/api/v1/sessions/" + session.getId();
      assertThat(rest(here, "DELETE", path, "").statusCode()).isEqualTo(204);
      await().atMost(DRAIN).until(() -> there.sessions().isEmpty() && here.sessions().isEmpty());
    }
    await().atMost(DRAIN).until(() -> here.freeBytes() == SERVERS * GPU_BYTES);
  }

  @Test
  void lease_onAnotherServersGpu_isUpdatedThroughThisOneAndSeenEverywhere() throws Exception {
    Pool here = servers.get(0);
    Pool third = servers.get(2);
    try (Tenant tenant = Tenant.start(here, "-m", "1Gi", "--select", "server=s1")) {
      String id = here.leases().getFirst().getId();
      String path = "/api/v1/leases/" + id;
      String change = "{\"computePercent\":80,\"hard\":true,\"class\":\"latency\"}";
      assertThat(rest(third, "PATCH", path, change).statusCode()).isEqualTo(200);
      for (Pool server : servers) {
        await()
            .atMost(Duration.ofSeconds(10))
            .untilAsserted(() -> {
              LeaseInfo lease = server.leases().getFirst();
              assertThat(lease.getId()).isEqualTo(id);
              assertThat(lease.getClass_()).isEqualTo(LEASE_CLASS_LATENCY);
              assertThat(lease.getGrants(0).getGrant().getComputePercent()).isEqualTo(80);
              assertThat(lease.getGrants(0).getGrant().getHard()).isTrue();
            });
      }
      HttpResponse<String> tooMuch = rest(third, "PATCH", path, "{\"computePercent\":0.5}");
      assertThat(tooMuch.statusCode()).isEqualTo(400);
      assertThat(servers.get(1).sessionOf(tenant.pid()).getState())
          .isEqualTo(SessionInfo.State.STATE_ATTACHED);
    }
    await().atMost(DRAIN).until(() -> here.freeBytes() == SERVERS * GPU_BYTES);
  }

  @Test
  void etcd_stopsForAWhile_whoOnlyLooksIsAnsweredMeanwhile() throws Exception {
    Pool pool = servers.get(2);
    CompletableFuture<HttpResponse<String>> change;
    freeze(true);
    try {
      change = send(pool, "POST", "/api/v1/tenants", "{\"name\": \"vision\"}");
      for (int round = 0; round < 3; round++) {
        for (String path : List.of("/healthz", "/metrics", "/api/v1/leases", "/api/v1/tenants")) {
          assertThat(rest(pool, "GET", path, "").statusCode()).as(path).isEqualTo(200);
        }
        Thread.sleep(100);
      }
      assertThat(change).isNotDone();
    } finally {
      freeze(false);
    }
    int status = change.get(DRAIN.toSeconds(), TimeUnit.SECONDS).statusCode();
    assertThat(rest(pool, "GET", "/api/v1/tenants/vision", "").statusCode())
        .as("the change was answered with %d", status)
        .isEqualTo(status == 201 ? 200 : 404);
  }

  private static void freeze(boolean frozen) throws Exception {
    for (int i = 0; i < SERVERS; i++) {
      etcd.freeze(i, frozen);
    }
  }

  private static HttpResponse<String> rest(Pool pool, String method, String path, String body)
      throws Exception {
    return send(pool, method, path, body).get(DRAIN.toSeconds(), TimeUnit.SECONDS);
  }

  private static CompletableFuture<HttpResponse<String>> send(
      Pool pool, String method, String path, String body) {
    return HTTP.sendAsync(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + pool.httpPort() + path))
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private static void restart(int index) {
    servers.get(index).close();
    servers.set(index, server(index));
  }

  private static int ready(Pool pool) throws Exception {
    return rest(pool, "GET", "/readyz", "").statusCode();
  }

  private static void requireAllServed(LeaseStorm storm) throws Exception {
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

  private static List<String> addresses() {
    return ports.stream().map(port -> "127.0.0.1:" + port).toList();
  }

  private static Pool server(int index) {
    return start(ports.get(index), "s" + index, etcd.url("storm"));
  }

  private static Pool start(int port, String name, String state, String... more) {
    List<String> options = new ArrayList<>(List.of("--name", name, "--state", state));
    options.addAll(List.of(more));
    return Pool.startAt(port, "soft:1,mem=4Gi", options.toArray(String[]::new));
  }
}
