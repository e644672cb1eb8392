// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gangs of leases whose programs ask at two servers with a GPU each. */
class GangsIT {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  @TempDir Path folder;

  @Test
  void jobs_thatWantBothGpusEach_runOneAfterTheOther() throws Exception {
    Path log = folder.resolve("log");
    List<Program> programs = new ArrayList<>();
    try (TwoServers pool = start()) {
      try {
        // In the worst order: the first of each job could take one GPU each.
        programs.add(member(pool.first(), "blue", log));
        programs.add(member(pool.second(), "red", log));
        programs.add(member(pool.first(), "red", log));
        programs.add(member(pool.second(), "blue", log));
        for (Program program : programs) {
          assertThat(program.awaitEnd(PATIENCE).status()).as(program.report()).isZero();
        }
      } finally {
        programs.forEach(Program::close);
      }
      List<String> lines = Files.readAllLines(log);
      assertThat(lines).hasSize(8);
      assertThat(lines.subList(0, 4)).as("one job alone: %s", lines).doesNotHaveDuplicates();
      String first = lines.getFirst().split(" ")[0];
      assertThat(lines.subList(0, 4)).as("%s", lines).allMatch(line -> line.startsWith(first));
      pool.first().awaitIdle();
    }
  }

  @Test
  void program_whoseGangStaysIncomplete_isRefusedWithTheReason() throws Exception {
    try (TwoServers pool = start()) {
      Program.Ended alone =
          pool.first()
              .run(new String[] {"--gang", "alone", "--gang-size", "2", "--wait", "2s"}, "true")
              .run(PATIENCE);
      assertThat(alone.status()).as(alone.toString()).isEqualTo(75);
      assertThat(alone.errors())
          .contains("waited 2s")
          .contains("gang 'alone' gets its 2 leases together, and 1 of them has been asked for")
          .contains("--wait");
      Program.Ended hasty =
          pool.first()
              .run(new String[] {"--gang", "alone", "--gang-size", "2"}, "true")
              .run(PATIENCE);
      assertThat(hasty.status()).as(hasty.toString()).isEqualTo(2);
      assertThat(hasty.errors()).contains("--wait is 0 for a lease of a gang");
    }
  }

  private TwoServers start() throws Exception {
    return TwoServers.start(folder, 2L << 30, options -> Pool.start("soft:1,mem=1Gi", options));
  }

  private static Program member(Pool server, String gang, Path log) {
    String[] options = {"-p", "1", "--gang", gang, "--gang-size", "2", "--wait", "90s"};
    String line =
        "echo \""
            + gang
            + " begins $$\" >>"
            + log
            + "; sleep 2; echo \""
            + gang
            + " ends $$\" >>"
            + log;
    return server.run(options, "sh", "-c", line).start();
  }
}
