// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.state.etcd.Etcd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Servers that are killed and upgraded beneath running programs: each program gives its results,
 * and leaves nothing behind. {@code -Dgpupool.restart.kills=N} kills a server so many times, {@code
 * -Dgpupool.restart.starts=N} stops one so many times beneath programs that start, and {@code
 * -Dgpupool.restart.seed=S} does so at other moments.
 */
class RestartIT {
  private static final int KILLS = Integer.getInteger("gpupool.restart.kills", 4);
  private static final int STARTS = Integer.getInteger("gpupool.restart.starts", 1);
  private static final long SEED = Long.getLong("gpupool.restart.seed", 1);

  /** In one life of the four programs. */
  private static final int KILLS_A_ROUND = 10;

  private static final int MAX_MILLIS = 2500;

  /** One start in so many is killed before it is known to be complete. */
  private static final int KILLED_EARLY = 4;

  private static final String[] SHARE = {"-m", "256Mi", "--resume-window", "60s"};
  private static final Duration ATTACHING = Duration.ofSeconds(60);
  private static final Duration RUNNING = Duration.ofMinutes(5);

  @TempDir Path folder;
  private final Random random = new Random(SEED);

  /** A program that checks every result itself, and goes on until its input ends. */
  private static Program start(Pool pool, String... more) {
    List<String> share = new ArrayList<>(List.of(SHARE));
    share.addAll(List.of(more));
    return pool.run(
            share.toArray(String[]::new),
            CPrograms.fixture("resumed"),
            Distribution.KERNELS,
            "until-end-of-input")
        .start();
  }

  private static void requireResult(Program program) {
    program.endInput();
    Program.Ended ended = program.awaitEnd(RUNNING);
    assertThat(ended.status()).as(program.report()).isZero();
    assertThat(ended.output()).contains("resumed: OK");
  }

  private static void awaitAttached(RestartedServer server, List<Program> programs) {
    await()
        .atMost(ATTACHING)
        .untilAsserted(() -> {
          assertThat(programs)
              .allSatisfy(program ->
                  assertThat(program.isAlive())
                      .as(() -> program.report() + "\n" + server.log())
                      .isTrue());
          assertThat(server.pool().sessions())
              .hasSize(programs.size())
              .allMatch(session -> session.getState() == SessionInfo.State.STATE_ATTACHED);
        });
  }

  /** Starts a server with two GPUs and a state of its own. */
  private RestartedServer startAlone() throws IOException {
    return RestartedServer.start(
        folder, "one", "soft:2,mem=1Gi", folder.resolve("state").toString());
  }

  /** Takes running programs. */
  private interface Incident {
    void befall(List<Program> programs) throws Exception;
  }

  /** Requires the results of programs that something befalls, and that they leave nothing. */
  private static void runPrograms(RestartedServer server, int count, Incident incident)
      throws Exception {
    List<Program> programs = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        programs.add(start(server.pool()));
      }
      incident.befall(programs);
      programs.forEach(RestartIT::requireResult);
    } finally {
      programs.forEach(Program::close);
    }
    server.awaitNothingLeft(2L << 30);
  }

  @Test
  void programs_serverKilledAndStartedAgainBeneathThem_giveTheirResults() throws Exception {
    try (RestartedServer server = startAlone()) {
      for (int kills = 0; kills < KILLS; kills += KILLS_A_ROUND) {
        int round = Math.min(KILLS_A_ROUND, KILLS - kills);
        runPrograms(
            server,
            4,
            programs -> {
              awaitAttached(server, programs);
              for (int i = 0; i < round; i++) {
                kill(server);
                awaitAttached(server, programs);
              }
            });
      }
    }
    System.out.println("RestartIT: " + KILLS + " kills, seed " + SEED);
  }

  private void kill(RestartedServer server) throws InterruptedException {
    Thread.sleep(random.nextInt(MAX_MILLIS));
    server.kill();
    if (random.nextInt(KILLED_EARLY) == 0) {
      server.startAndKillAfter(Duration.ofMillis(random.nextInt(MAX_MILLIS)));
    }
    server.start();
  }

  @Test
  void programs_serverStoppedWhileTheyStart_startWithItsNextProcess() throws Exception {
    try (RestartedServer server = startAlone()) {
      for (int i = 0; i < STARTS; i++) {
        runPrograms(
            server,
            3,
            programs -> {
              await()
                  .atMost(ATTACHING)
                  .pollInterval(Duration.ofMillis(20))
                  .until(() -> server.pool().leases().size() == programs.size());
              Thread.sleep(random.nextInt(MAX_MILLIS));
              server.stop();
              server.start();
              awaitAttached(server, programs);
            });
      }
    }
  }

  @Test
  void programs_serversOfAPoolUpgradedOneAfterTheOther_giveTheirResults() throws Exception {
    List<RestartedServer> servers = new ArrayList<>();
    List<Program> programs = new ArrayList<>();
    try (Etcd etcd = Etcd.start(folder, 1)) {
      for (int i = 0; i < 3; i++) {
        servers.add(RestartedServer.start(folder, "s" + i, "soft:1,mem=1Gi", etcd.url("upgraded")));
      }
      Pool first = servers.getFirst().pool();
      await().atMost(ATTACHING).until(() -> first.freeBytes() == 3L << 30);
      for (int i = 0; i < 3; i++) {
        programs.add(start(first, "--select", "server=s" + i));
        programs.add(start(first, "--select", "server=s" + i));
      }
      awaitAttached(servers.getFirst(), programs);
      for (RestartedServer server : servers) {
        server.stop();
        Thread.sleep(random.nextInt(MAX_MILLIS));
        server.start();
        awaitAttached(server, programs);
      }
      programs.forEach(RestartIT::requireResult);
      for (RestartedServer server : servers) {
        server.awaitNothingLeft(3L << 30);
      }
    } finally {
      programs.forEach(Program::close);
      servers.forEach(RestartedServer::close);
    }
  }
}
