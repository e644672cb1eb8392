// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
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
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir static Path folder;
  private static TwoServers pool;

  @BeforeAll
  static void start() throws Exception {
    pool = TwoServers.start(folder);
  }

  @AfterAll
  static void stop() {
    if (pool != null) {
      pool.close();
    }
  }

  private static Program checked(String server, String... lease) {
    List<String> options = new ArrayList<>(List.of(lease));
    options.addAll(List.of("--select", "server=" + server));
    return pool.first()
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
          assertThat(pool.first().leases())
              .hasSize(programs)
              .allSatisfy(
                  lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isEqualTo(server));
          assertThat(pool.first().sessions())
              .hasSize(programs)
              .allSatisfy(session -> {
                assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
                assertThat(session.getCalls()).isPositive();
              });
        });
  }

  @Test
  void terminated_serverThatMovesItsLeases_endsAndTheProgramGoesOn() throws Exception {
    List<String> options = new ArrayList<>(List.of(pool.options("m2")));
    options.addAll(List.of("--run-dir", folder.resolve("m2").toString()));
    options.addAll(List.of("--drain-limit", "2m", "--drain-move"));
    try (Pool going = Pool.start("soft:1,mem=1Gi", options.toArray(String[]::new));
        Program program = checked("m2", "-m", "256Mi")) {
      awaitAllAt("m2", 1);
      going.server().signal("TERM");
      assertThat(going.server().awaitEnd(LIMIT).status()).isZero();
      assertThat(pool.first().leases())
          .singleElement()
          .satisfies(
              lease -> assertThat(lease.getGrants(0).getGrant().getServer()).isNotEqualTo("m2"));
      program.endInput();
      Program.Ended ended = program.awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("resumed: OK");
    }
    pool.awaitAllFree();
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
      List<String> ids = pool.second().leases().stream().map(LeaseInfo::getId).toList();
      Program.Ended drained =
          pool.second().gpupool(LIMIT, "server", "drain", "m0", "--move", "--deadline", "2m");
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
    Program.Ended back = pool.second().gpupool("server", "uncordon", "m0");
    assertThat(back.status()).as(back.toString()).isZero();
    pool.awaitAllFree();
  }
}
