// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Programs with connections that break at random bytes in both directions: each gives the results
 * that it gives over a connection that holds, and leaves nothing behind. {@code -Dgpupool.cuts=N}
 * makes so many cuts, {@code -Dgpupool.cuts.seed=S} others.
 */
class ResumeIT {
  private static final int CUTS = Integer.getInteger("gpupool.cuts", 50);
  private static final long SEED = Long.getLong("gpupool.cuts.seed", 1);
  private static final int CUTS_A_RUN = 5;
  private static final long GPU_BYTES = 2L << 30;
  private static final Duration RUNNING = Duration.ofMinutes(3);

  /** The first bytes open the session, which does not outlive its connection before it is open. */
  private static final long ATTACH_BYTES = 4 << 10;

  private static Pool pool;
  private static CutProxy control;
  private static CutProxy streams;

  @BeforeAll
  static void startPool() throws IOException {
    pool = Pool.start("soft:2,mem=1Gi");
    control = CutProxy.start(pool.controlPort());
    streams = CutProxy.start(pool.dataPort());
  }

  @AfterAll
  static void stopPool() throws IOException {
    if (streams != null) {
      streams.close();
      control.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  private record Run(String name, List<Object> command) {}

  private static List<Run> programs() {
    List<Run> programs = new ArrayList<>();
    programs.add(example("vector_add"));
    programs.add(example("threads", "40"));
    programs.add(example("streams"));
    programs.add(example("ordering", "2000"));
    programs.add(
        new Run("resumed", List.of(CPrograms.fixture("resumed"), Distribution.KERNELS, "6")));
    if (CudaPrograms.canBeMade()) {
      for (String name :
          List.of(
              "stream_pipeline",
              "graph_random",
              "host_functions",
              "mapped_memory",
              "managed_memory",
              "copies_3d",
              "neural_network")) {
        Path made = CudaPrograms.make(name);
        programs.add(new Run(name, List.of(made)));
      }
    }
    return programs;
  }

  private static Run example(String name, String... arguments) {
    List<Object> command = new ArrayList<>(List.of(CPrograms.example(name), Distribution.KERNELS));
    command.addAll(List.of(arguments));
    return new Run(name, command);
  }

  @TestFactory
  Stream<DynamicTest> programs_withConnectionsThatBreak_giveTheirResults() {
    List<Run> programs = programs();
    int runs = (CUTS + CUTS_A_RUN - 1) / CUTS_A_RUN;
    return Stream.iterate(0, i -> i < runs, i -> i + 1)
        .map(i -> {
          Run program = programs.get(i % programs.size());
          long seed = SEED + i;
          return DynamicTest.dynamicTest(
              program.name + ", seed " + seed, () -> cutAndCompare(program, seed));
        });
  }

  private static void cutAndCompare(Run program, long seed) {
    CutPlan whole = CutPlan.none();
    streams.follow(whole);
    Program.Ended expected = run(program);
    assertThat(expected.status()).as(expected.toString()).isZero();
    CutPlan plan = CutPlan.random(seed, CUTS_A_RUN, ATTACH_BYTES, whole.relayed());
    streams.follow(plan);
    Program.Ended ended = run(program);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).isEqualTo(expected.output());
    assertThat(plan.done()).as("cuts, of " + plan.relayed() + " bytes").isPositive();
    pool.awaitIdle();
    pool.awaitFreeBytes(GPU_BYTES);
  }

  private static Program.Ended run(Run program) {
    List<Object> line = new ArrayList<>(List.of(Distribution.gpupool().toString(), "run"));
    line.addAll(
        List.of(
            "--pool",
            CutProxy.HOST + ":" + pool.controlPort(),
            "-m",
            "512Mi",
            "--resume-window",
            "60s",
            "--"));
    line.addAll(program.command);
    return Program.of(line.toArray()).run(RUNNING);
  }
}
