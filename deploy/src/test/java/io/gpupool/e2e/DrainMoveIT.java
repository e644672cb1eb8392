// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that is told to end while a program runs on it, and moves its lease to another one. */
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

  @Test
  void terminated_serverThatMovesItsLeases_endsAndTheProgramGoesOn() throws Exception {
    List<String> options = new ArrayList<>(List.of(pool.options("m2")));
    options.addAll(List.of("--run-dir", folder.resolve("m2").toString()));
    options.addAll(List.of("--drain-limit", "2m", "--drain-move"));
    try (Pool going = Pool.start("soft:1,mem=1Gi", options.toArray(String[]::new));
        Program program = program()) {
      pool.awaitAllAt("m2", 1);
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

  private static Program program() {
    return pool.first()
        .run(
            new String[] {"-m", "256Mi", "--select", "server=m2"},
            CPrograms.fixture("resumed"),
            Distribution.KERNELS,
            "until-end-of-input")
        .start();
  }
}
