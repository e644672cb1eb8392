// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/** Single programs of examples/cuda, compiled with nvcc for tests that need more than their OK. */
final class CudaPrograms {
  private static final Duration COMPILING = Duration.ofMinutes(10);
  private static final Path OUT = Distribution.WORK.resolve("cuda");

  private CudaPrograms() {}

  /** Compiles one unless it is there; skips the test, with a message, where there is no nvcc. */
  static Path make(String name) {
    assumeTrue(canBeMade(), "skipped: there is no nvcc on the PATH");
    make("O3", "static", name);
    return OUT.resolve("sm_75-O3-static").resolve(name);
  }

  /**
   * Compiles those of these names that are not there. One at a time does: the CI begins before the
   * tests do.
   */
  static Path make(String optimise, String cudart, String names) {
    Program.Ended made =
        Program.of(
                "flock",
                made(OUT).resolve("lock"),
                "make",
                "-s",
                "-j2",
                "-C",
                Distribution.EXAMPLES.resolve("cuda"))
            .with("OUT", OUT)
            .with("NAMES", names)
            .with("OPTIMISE", optimise)
            .with("CUDART", cudart)
            .run(COMPILING);
    assertThat(made.status()).as(made.errors()).isZero();
    return OUT.resolve("sm_75-" + optimise + "-" + cudart);
  }

  private static Path made(Path folder) {
    try {
      return Files.createDirectories(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static boolean canBeMade() {
    return isOnPath("nvcc");
  }

  private static boolean isOnPath(String program) {
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
  }
}
