// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The programs of examples/cuda, compiled by nvcc with cudart static and shared, on one pool. */
class CudaProgramsIT {
  private static final Path SOURCES = Distribution.EXAMPLES.resolve("cuda");
  private static final Path OUT = Distribution.WORK.resolve("cuda");
  private static final Duration COMPILING = Duration.ofMinutes(10);

  private static Path nvcc;
  private static Pool pool;

  @BeforeAll
  static void startPool() throws IOException {
    Optional<Path> found = onPath("nvcc");
    assumeTrue(found.isPresent(), "the CUDA programs need nvcc, which is not on the PATH");
    assumeTrue(onPath("make").isPresent(), "the CUDA programs need make, which is not on the PATH");
    nvcc = found.get().toRealPath();
    pool = Pool.start("soft:1,mem=2Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_cudartStatic_passThroughThePool() throws IOException {
    return programs("static");
  }

  @TestFactory
  Stream<DynamicTest> programs_cudartShared_passThroughThePool() throws IOException {
    return programs("shared");
  }

  private Stream<DynamicTest> programs(String cudart) throws IOException {
    Program.Ended made =
        Program.of("make", "-s", "-j2", "-C", SOURCES, "OUT=" + OUT, "CUDART=" + cudart)
            .run(COMPILING);
    assertThat(made.status()).as(made.errors()).isZero();
    Path programs = OUT.resolve("sm_75-" + cudart);
    try (Stream<Path> files = Files.list(programs)) {
      return files.sorted().toList().stream()
          .map(program ->
              DynamicTest.dynamicTest(
                  program.getFileName() + " (" + cudart + ")", () -> assertOk(program)));
    }
  }

  private static void assertOk(Path program) {
    Program.Ended ended =
        pool.run(new String[] {"-m", "1Gi"}, program)
            .with("LD_LIBRARY_PATH", toolkitLibraries())
            .run();
    assertThat(ended.output()).as(ended.toString()).contains(program.getFileName() + ": OK");
    assertThat(ended.status()).as(ended.toString()).isZero();
  }

  /**
   * Where libcudart.so of the nvcc that is found lies; an installation may be a script elsewhere.
   */
  private static String toolkitLibraries() {
    Path beside = nvcc.resolveSibling("../lib64").normalize();
    return (Files.isDirectory(beside) ? beside : Path.of("/usr/local/cuda/lib64")).toString();
  }

  private static Optional<Path> onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }
}
