// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/** Single programs of examples/cuda, compiled with nvcc for tests that need more than their OK. */
final class CudaPrograms {
  private static final Duration COMPILING = Duration.ofMinutes(5);
  private static final Path OUT = Distribution.WORK.resolve("cuda");

  private CudaPrograms() {}

  /** Compiles one unless it is there; skips the test, with a message, where there is no nvcc. */
  static Path make(String name) {
    assumeTrue(canBeMade(), "skipped: there is no nvcc on the PATH");
    Program.Ended made =
        Program.of("make", "-s", "-C", Distribution.EXAMPLES.resolve("cuda"))
            .with("OUT", OUT)
            .with("NAMES", name)
            .with("OPTIMISE", "O3")
            .with("CUDART", "static")
            .run(COMPILING);
    assertThat(made.status()).as(made.errors()).isZero();
    return OUT.resolve("sm_75-O3-static").resolve(name);
  }

  static boolean canBeMade() {
    return isOnPath("nvcc");
  }

  private static boolean isOnPath(String program) {
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }
}
