// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.FreePort;
import io.gpupool.server.state.etcd.Etcd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases with GPUs of two server processes of one pool, over a real etcd. */
class SeveralGpusIT {
  private static final String GPUS = "soft:2,mem=2Gi";
  private static final long POOL_BYTES = 4 * (2L << 30);
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int TTL_SECONDS = 5;
  private static final String[] ALL_FOUR = {"-n", "4"};

  @TempDir static Path folder;
  private static Etcd etcd;
  private static final List<Integer> ports = new ArrayList<>();
  private static final List<Pool> servers = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 1);
    for (int i = 0; i < 2; i++) {
      ports.add(FreePort.find());
      servers.add(server(i));
    }
    awaitAllFree();
  }

  @AfterAll
  static void stop() {
    servers.forEach(Pool::close);
    if (etcd != null) {
      etcd.close();
    }
  }

  @AfterEach
  void pool_afterEachTest_hasNothingLeft() {
    awaitAllFree();
    assertThat(servers.getFirst().sessions()).isEmpty();
  }

  @Test
  void program_copiesBetweenServers_getsItsGpusInOneRowAndItsBytesDoNotPassThroughIt()
      throws Exception {
    Path program = CudaPrograms.make("far_copies");
    try (Program run = servers.getFirst().run(ALL_FOUR, program, "wait").start()) {
      String said = run.awaitLine(line -> line.startsWith("far_copies: OK"));
      long copied = Long.parseLong(said.split(" ")[2]);
      LeaseInfo lease = servers.get(1).leases().getFirst();
      assertThat(lease.getGrantsList())
          .extracting(use -> use.getGrant().getServer() + "/" + use.getGrant().getGpu())
          .containsExactly("s0/0", "s0/1", "s1/0", "s1/1");
      await()
          .atMost(LIMIT)
          .until(() ->
              sum(SessionInfo::getPeerReceivedBytes) == copied
                  && sum(SessionInfo::getPeerSentBytes) >= copied);
      assertThat(sum(s -> s.getReceivedBytes() + s.getSentBytes()))
          .as("bytes between the program and its %d sessions", sessions().size())
          .isLessThan(copied / 50);
      assertThat(sessions())
          .extracting(SessionInfo::getServer)
          .containsExactlyInAnyOrder("s0", "s1");
      assertThat(sessions()).extracting(s -> s.getClient().getPid()).doesNotContain(0);
      assertThat(servers.getFirst().gpupool("top", "-d").output()).contains("s0/1", "s1/1");
      run.endInput();
      assertThat(run.awaitEnd().status()).as(run.report()).isZero();
    }
  }

  @Test
  void program_ofFourGpusOfTwoServers_computesWhatTheProcessorDoes() throws Exception {
    Path program = CudaPrograms.make("several_gpus");
    Program.Ended ended = servers.get(1).run(ALL_FOUR, program).run(LIMIT);
    assertThat(ended.output()).as(ended.toString()).contains("several_gpus: OK");
    assertThat(ended.status()).isZero();
  }

  @Test
  void greenContexts_ofAlikeGpusOfTwoServers_areOfTheGpuThatGaveTheirResources() throws Exception {
    Path program = CudaPrograms.make("green_contexts");
    Program.Ended ended = servers.getFirst().run(ALL_FOUR, program).run(LIMIT);
    assertThat(ended.output()).as(ended.toString()).contains("green_contexts: OK");
  }

  @Test
  void server_ofALeaseIsKilled_itsHolderHearsWhichOneAndAllIsFreeAgain() throws Exception {
    // With a window, the other server would wait for this one for so long.
    try (Program held = hold("-n", "4", "--resume-window", "0")) {
      servers.get(1).server().kill();
      held.awaitErrorLine(line ->
          line.equals(
              "gpupool: the lease has ended: server s1, which had 2 of its 4 GPUs, is gone"));
      await().atMost(LIMIT).until(() -> servers.getFirst().freeBytes() == POOL_BYTES / 2);
      servers.get(1).close();
      servers.set(1, server(1));
      held.endInput();
    }
  }

  @Test
  void lease_ofTwoServers_isReleasedAtTheOneAndEndsIdleAtBoth() throws Exception {
    CompletableFuture<Void> idle =
        CompletableFuture.runAsync(() -> {
          try (Program held = hold("-n", "3", "-p", "0.5", "--idle-timeout", "5s")) {
            held.awaitErrorLine(line -> line.contains("the lease has ended: it was idle for 5s"));
          }
        });
    try (Program held = hold("-n", "4", "-p", "0.5")) {
      // The other server hears of the grant a moment later.
      await()
          .untilAsserted(() ->
              assertThat(servers.get(1).leases()).anyMatch(lease -> lease.getGrantsCount() == 4));
      String id =
          servers.get(1).leases().stream()
              .filter(lease -> lease.getGrantsCount() == 4)
              .findFirst()
              .orElseThrow()
              .getId();
      assertThat(servers.get(1).gpupool("lease", "release", id).status()).isZero();
      held.awaitErrorLine(line -> line.contains("the lease has ended: released by"));
    }
    idle.join();
  }

  @Test
  void request_forMoreGpusThanAServerHasOnOneServer_isRefused() {
    Program.Ended refused =
        servers.getFirst().run(new String[] {"-n", "3", "--one-server"}, "true").run();
    assertThat(refused.status()).isEqualTo(2);
    assertThat(refused.errors()).contains("no server has more than 2 GPUs that can serve it");
  }

  private static Program hold(String... share) {
    Program held = servers.getFirst().run(share, "sh", "-c", "echo held; exec cat").start();
    held.awaitLine("held"::equals);
    return held;
  }

  private static List<SessionInfo> sessions() {
    return servers.getFirst().sessions();
  }

  private static long sum(ToLongFunction<SessionInfo> value) {
    return sessions().stream().mapToLong(value).sum();
  }

  private static void awaitAllFree() {
    await().atMost(LIMIT).until(() -> servers.getFirst().freeBytes() == POOL_BYTES);
  }

  private static Pool server(int index) {
    return Pool.startAt(
        ports.get(index),
        GPUS,
        "--name",
        "s" + index,
        "--state",
        etcd.url("several"),
        "--etcd-ttl",
        Integer.toString(TTL_SECONDS));
  }
}
