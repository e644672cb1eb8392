// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs whose leases move between the GPUs of two servers while they run. */
class LeaseMoveIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);

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

  @AfterEach
  void awaitEnd() {
    pool.awaitAllFree();
  }

  private static Program checked(String window) {
    return pool.first()
        .run(
            new String[] {"-m", "512Mi", "--select", "server=m0", "--resume-window", window},
            CPrograms.fixture("resumed"),
            Distribution.KERNELS,
            "until-end-of-input")
        .start();
  }

  private static Program.Ended move(String to) {
    String id = pool.second().leases().getFirst().getId();
    return pool.second().gpupool("lease", "move", id, "--to", to);
  }

  @Test
  void program_whoseLeaseMovesAroundThePool_givesItsResults() {
    try (Program program = checked("60s")) {
      await().atMost(LIMIT).until(() -> !pool.second().leases().isEmpty());
      pool.first().awaitWorkingAt("m0", 0, 0);
      for (String to : List.of("m1/0", "m1/1", "m0/1", "m0/0")) {
        Program.Ended moved = move(to);
        assertThat(moved.status()).as(moved.toString()).isZero();
        assertThat(moved.output()).contains(to).contains(" ms");
        pool.first().awaitWorkingAt(to.substring(0, 2), Integer.parseInt(to.substring(3)), 0);
      }
      program.endInput();
      Program.Ended ended = program.awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("resumed: OK");
    }
  }

  @Test
  void program_whoseLeaseCannotMove_goesOnWhereItIs() {
    try (Program program = checked("0")) {
      await().atMost(LIMIT).until(() -> !pool.second().leases().isEmpty());
      pool.first().awaitWorkingAt("m0", 0, 0);
      Program.Ended refused = move("m1");
      assertThat(refused.status()).isNotZero();
      assertThat(refused.errors()).contains("has a resume window of 0");
      pool.first().awaitWorkingAt("m0", 0, 0);
      program.endInput();
      Program.Ended ended = program.awaitEnd(LIMIT);
      assertThat(ended.status()).as(ended.toString()).isZero();
    }
  }
}
