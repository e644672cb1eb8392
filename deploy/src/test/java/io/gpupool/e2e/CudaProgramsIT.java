// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs of examples/cuda on the software GPU: every second with optimisation, one in 32
 * without it and with the CUDA runtime beside them, each day others; all of each with {@code
 * -Dgpupool.cuda.all=true}.
 */
class CudaProgramsIT {
  private static final int ONE_IN = 32;
  private static final int OPTIMISED_ONE_IN = 2;

  private static Pool pool;
  private static CudaRuns runs;

  @BeforeAll
  static void startPool(@TempDir Path folder) throws IOException {
    CudaRuns.assumeCompiler();
    // No program is to wait for a worker that warms up for the next one.
    pool = Pool.startAsInstalled("soft:2,mem=8Gi", "--spares", "0");
    runs = CudaRuns.on(pool, folder);
  }

  @AfterAll
  static void stopPool() {
    if (runs != null) {
      runs.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_unoptimised_passThroughThePool() throws IOException {
    return programs("O0", "static", ONE_IN);
  }

  @TestFactory
  Stream<DynamicTest> programs_optimised_passThroughThePool() throws IOException {
    return programs("O3", "static", OPTIMISED_ONE_IN);
  }

  @TestFactory
  Stream<DynamicTest> programs_optimisedWithSharedRuntime_passThroughThePool() throws IOException {
    return programs("O3", "shared", ONE_IN);
  }

  private static Stream<DynamicTest> programs(String optimise, String cudart, int oneIn)
      throws IOException {
    List<Path> programs = CudaRuns.programs(optimise, cudart, oneIn);
    return programs.stream().map(CudaProgramsIT::test).toList().stream();
  }

  /** Begins as soon as a runner is free; the test waits for the end. */
  private static DynamicTest test(Path program) {
    var ended = runs.run(program, Map.of());
    return DynamicTest.dynamicTest(
        program.getFileName() + " (" + program.getParent().getFileName() + ")",
        () -> assertOk(program, ended.join()));
  }

  private static void assertOk(Path program, Program.Ended ended) {
    assertThat(ended.output()).as(ended.toString()).contains(program.getFileName() + ": OK");
    assertThat(ended.status()).as(ended.toString()).isZero();
  }
}
