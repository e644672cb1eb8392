// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.state.etcd.Etcd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that is drained while programs run on it, and moves their leases to another one. */
class DrainMoveIT {
  private static final int GPUS = 4;
  private static final long GPU_BYTES = 1L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir static Path folder;
  private static final List<Pool> servers = new ArrayList<>();
  private static Etcd etcd;

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 1);
    for (String name : List.of("m0", "m1")) {
      servers.add(
          Pool.start(
              "soft:2,mem=1Gi",
              "--name",
              name,
              "--host",
              "127.0.0.1",
              "--state",
              etcd.url("drain")));
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

  private static void awaitAllFree() {
    await().atMost(LIMIT).until(() -> servers.getFirst().freeBytes() == GPUS * GPU_BYTES);
  }

  private static Program checked(String server, String... lease) {
    List<String> options = new ArrayList<>(List.of(lease));
    options.addAll(List.of("--select", "server=" + server));
    return servers
        .getFirst()
        .run(
            options.toArray(String[]::new),
            CPrograms.fixture("resumed"),
            Distribution.KERNELS,
            "until-end-of-input")
        .start();
  }

  /** Waits until all programs have made calls on their leases at a place. */
  private static void awaitAllAt(String server, int programs) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> {
          assertThat(servers.getFirst().leases())
              .hasSize(programs)
              .allSatisfy(
                  lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isEqualTo(server));
          assertThat(servers.getFirst().sessions())
              .hasSize(programs)
              .allSatisfy(session -> {
                assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
                assertThat(session.getCalls()).isPositive();
              });
        });
  }

  @Test
  void terminated_serverThatMovesItsLeases_endsAndTheProgramGoesOn() throws Exception {
    try (Pool going =
            Pool.start(
                "soft:1,mem=1Gi",
                "--name",
                "m2",
                "--host",
                "127.0.0.1",
                "--state",
                etcd.url("drain"),
                "--run-dir",
                folder.resolve("m2").toString(),
                "--drain-limit",
                "2m",
                "--drain-move");
        Program program = checked("m2", "-m", "256Mi")) {
      awaitAllAt("m2", 1);
      going.server().signal("TERM");
      assertThat(going.server().awaitEnd(LIMIT).status()).isZero();
      assertThat(servers.getFirst().leases())
          .singleElement()
          .satisfies(
              lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isNotEqualTo("m2"));
      program.endInput();
      Program.Ended ended = program.awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("resumed: OK");
    }
    awaitAllFree();
  }

  @Test
  void drain_serverWithFivePrograms_movesThemAllAndTheyGiveTheirResults() {
    List<Program> programs = new ArrayList<>();
    try {
      programs.add(checked("m0", "-m", "256Mi"));
      programs.add(checked("m0", "-m", "512Mi"));
      programs.add(checked("m0", "-m", "128Mi"));
      programs.add(checked("m0", "-m", "384Mi", "--priority", "3"));
      programs.add(checked("m0", "-m", "256Mi", "--class", "latency"));
      awaitAllAt("m0", programs.size());
      List<String> ids = servers.getLast().leases().stream().map(LeaseInfo::getId).toList();
      Program.Ended drained =
          servers.getLast().gpupool("server", "drain", "m0", "--move", "--deadline", "2m");
      assertThat(drained.status()).as(drained.toString()).isZero();
      assertThat(ids)
          .allSatisfy(id ->
              assertThat(drained.output()).containsPattern(id + " -> m1/[01]  pause [0-9]+ ms"));
      assertThat(drained.output()).containsPattern("m0 +drained +0 ");
      awaitAllAt("m1", programs.size());
      for (Program program : programs) {
        program.endInput();
        Program.Ended ended = program.awaitEnd(LIMIT);
        assertThat(ended.status()).as(ended.toString()).isZero();
        assertThat(ended.output()).contains("resumed: OK");
      }
    } finally {
      programs.forEach(Program::close);
    }
    Program.Ended back = servers.getLast().gpupool("server", "uncordon", "m0");
    assertThat(back.status()).as(back.toString()).isZero();
    awaitAllFree();
  }
}
