// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs whose leases are suspended and resumed. {@code -Dgpupool.suspend.sessions=N} has so many
 * share a GPU that has room for a third of them, {@code -Dgpupool.suspend.rounds=N} has each work
 * so often.
 */
class SuspendIT {
  private static final int QUICK = 6;
  private static final int SESSIONS = Integer.getInteger("gpupool.suspend.sessions", QUICK);

  /** The part of its memory that a program works on, which is all that its suspension writes. */
  private static final int USED_ONE_IN = SESSIONS > QUICK ? 2 : 8;

  private static final int ROUNDS = Integer.getInteger("gpupool.suspend.rounds", 2);
  private static final long GPU_BYTES = 1L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final Duration PATIENCE = Duration.ofMinutes(30);

  @TempDir Path folder;

  private RestartedServer server() throws IOException {
    return RestartedServer.start(folder, "s", "soft:1,mem=1Gi", folder.resolve("state").toString());
  }

  private static Program waking(Pool pool, String[] share, Object... arguments) {
    List<Object> command = new ArrayList<>(List.of(CPrograms.fixture("waking")));
    command.add(Distribution.KERNELS);
    command.addAll(List.of(arguments));
    return pool.run(share, command.toArray()).start();
  }

  private static void awaitState(Pool pool, LeaseInfo.State state) {
    await()
        .atMost(LIMIT)
        .untilAsserted(() ->
            assertThat(pool.leases())
                .singleElement()
                .satisfies(lease -> assertThat(lease.getState()).isEqualTo(state)));
  }

  private static void requireResult(Program program) {
    program.endInput();
    Program.Ended ended = program.awaitEnd(PATIENCE);
    assertThat(ended.status()).as(program.report()).isZero();
    assertThat(ended.output()).contains("waking: OK");
  }

  private static void command(Pool pool, String... arguments) {
    Program.Ended ended = pool.gpupool(LIMIT, arguments);
    assertThat(ended.status()).as(ended.toString()).isZero();
  }

  private List<Path> images() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("state").resolve("suspended"))) {
      return files.toList();
    }
  }

  @Test
  void program_suspendedForLongerThanItsResumeWindow_goesOnWhenItIsResumed() throws Exception {
    try (RestartedServer server = server();
        Program program =
            waking(
                server.pool(),
                new String[] {"-m", "512Mi", "--resume-window", "5s"},
                16,
                "until-end-of-input",
                200,
                1)) {
      Pool pool = server.pool();
      pool.awaitWorking(1, 0);
      String id = pool.leases().getFirst().getId();
      command(pool, "lease", "suspend", id);
      awaitState(pool, LeaseInfo.State.STATE_SUSPENDED);
      assertThat(pool.freeBytes()).isEqualTo(GPU_BYTES);
      assertThat(pool.leases().getFirst().getSuspension().getSessions()).isEqualTo(1);
      Thread.sleep(8000);
      assertThat(program.isAlive()).as(program.report()).isTrue();
      assertThat(pool.gpupool("lease", "suspend", id).errors()).contains("is suspended already");
      command(pool, "lease", "resume", id);
      pool.awaitWorking(1, 0);
      assertThat(images()).isEmpty();
      requireResult(program);
      server.awaitNothingLeft(GPU_BYTES);
    }
  }

  @Test
  void idleProgram_isSuspended_andItsNextCallResumesIt() throws Exception {
    try (RestartedServer server = server();
        Program program =
            waking(
                server.pool(),
                new String[] {"-m", "512Mi", "--suspend-idle", "1s"},
                8,
                3,
                8000,
                3)) {
      awaitState(server.pool(), LeaseInfo.State.STATE_SUSPENDED);
      server.pool().awaitFreeBytes(GPU_BYTES);
      requireResult(program);
      assertThat(program.report()).contains("connected to s again");
      server.awaitNothingLeft(GPU_BYTES);
    }
  }

  @Test
  void suspendedLease_outlivesItsServerProcess() throws Exception {
    try (RestartedServer server = server();
        Program program =
            waking(
                server.pool(),
                new String[] {"-m", "512Mi", "--resume-window", "60s"},
                16,
                "until-end-of-input",
                200,
                5)) {
      server.pool().awaitWorking(1, 0);
      String id = server.pool().leases().getFirst().getId();
      command(server.pool(), "lease", "suspend", id);
      server.kill();
      server.start();
      awaitState(server.pool(), LeaseInfo.State.STATE_SUSPENDED);
      assertThat(server.pool().freeBytes()).isEqualTo(GPU_BYTES);
      command(server.pool(), "lease", "resume", id);
      server.pool().awaitWorking(1, 0);
      requireResult(program);
      server.awaitNothingLeft(GPU_BYTES);
    }
  }

  @Test
  void programThatIsSuspended_isKilled_leavesNothing() throws Exception {
    try (RestartedServer server = server();
        Program program =
            waking(
                server.pool(),
                new String[] {"-m", "512Mi", "--resume-window", "2s"},
                8,
                "until-end-of-input",
                200,
                7)) {
      server.pool().awaitWorking(1, 0);
      command(server.pool(), "lease", "suspend", server.pool().leases().getFirst().getId());
      program.kill();
      server.awaitNothingLeft(GPU_BYTES);
      await().atMost(LIMIT).untilAsserted(() -> assertThat(images()).isEmpty());
    }
  }

  @Test
  void lease_withoutAResumeWindow_isNotSuspended() throws Exception {
    try (RestartedServer server = server();
        Program program =
            waking(
                server.pool(),
                new String[] {"-m", "512Mi", "--resume-window", "0"},
                8,
                "until-end-of-input",
                200,
                9)) {
      server.pool().awaitWorking(1, 0);
      Program.Ended refused =
          server.pool().gpupool("lease", "suspend", server.pool().leases().getFirst().getId());
      assertThat(refused.status()).isNotZero();
      assertThat(refused.errors()).contains("has a resume window of 0");
      requireResult(program);
    }
  }

  @Test
  void programsThatWantThreeTimesTheMemory_allGoOn() throws Exception {
    long memoryMib = 3 * (GPU_BYTES >> 20) / SESSIONS;
    String[] share = {
      "-m", memoryMib + "Mi", "--compute", "1", "--suspend-idle", "1s", "--wait", "30m"
    };
    List<Program> programs = new ArrayList<>();
    try (RestartedServer server = server()) {
      try {
        for (int i = 0; i < SESSIONS; i++) {
          programs.add(
              waking(
                  server.pool(), share, memoryMib / USED_ONE_IN, ROUNDS, 1000 * SESSIONS, i + 11));
        }
        programs.forEach(SuspendIT::requireResult);
      } finally {
        programs.forEach(Program::close);
      }
      server.awaitNothingLeft(GPU_BYTES);
      assertThat(images()).isEmpty();
    }
    System.out.println("SuspendIT: " + SESSIONS + " sessions, " + ROUNDS + " rounds each");
  }
}
