// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** NVIDIA's cuBLAS, as it is, computing by the PTX that it carries. */
class CublasIT {
  private static final String[] WHOLE = {};
  // Beside PyTorch's CUDA build.
  private static final String FIND =
      """
      import glob, os, torch
      root = os.path.dirname(os.path.dirname(torch.__file__))
      print((glob.glob(root + '/nvidia/cu13/lib') + ['none'])[0])\
      """;
  private static final List<String> LIBRARIES =
      List.of("libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13");

  private static Path folder;
  private static Path program;

  @BeforeAll
  static void compile() {
    Optional<Path> found = find();
    assumeTrue(
        found.isPresent(),
        "there is no cuBLAS 13 beside PyTorch; GPUPOOL_TEST_CUBLAS names the folder of "
            + LIBRARIES);
    folder = found.orElseThrow();
    List<String> options =
        new ArrayList<>(LIBRARIES.stream().map(name -> folder.resolve(name).toString()).toList());
    options.add("-lm");
    program = CPrograms.fixture("cublas", "linked", options.toArray(String[]::new));
  }

  @Test
  void cublas_onCard12_computesVectorsRight() {
    assertRight("soft:1,mem=1Gi,cc=12.0", "saxpy", "sdot", "snrm2", "isamax", "sscal");
  }

  @Test
  void cublas_onCardNewerThanItsMachineCode_computesMatricesRight() {
    assertRight("soft:1,mem=1Gi,cc=13.0", "saxpy", "sdot", "sgemv", "sgemm", "dgemm", "gemmex-f16");
  }

  private static void assertRight(String gpus, String... calls) {
    List<Object> command = new ArrayList<>(List.of(program));
    command.addAll(Arrays.asList(calls));
    try (Pool pool = Pool.start(gpus)) {
      Program.Ended ended =
          pool.run(WHOLE, command.toArray()).with("LD_LIBRARY_PATH", folder).run();
      assertThat(ended.output())
          .as(ended.toString())
          .contains("cublas: " + calls.length + " right, 0 not");
      assertThat(ended.errors()).isEmpty();
    }
  }

  private static Optional<Path> find() {
    String named = System.getenv("GPUPOOL_TEST_CUBLAS");
    if (named != null) {
      return Optional.of(Path.of(named));
    }
    String python = System.getenv().getOrDefault("GPUPOOL_TEST_PYTHON", "python3");
    Program.Ended asked = Program.of(python, "-c", FIND).run();
    return Stream.of(asked.output().strip())
        .filter(path -> asked.status() == 0 && path.startsWith("/"))
        .map(Path::of)
        .filter(path -> LIBRARIES.stream().allMatch(name -> Files.exists(path.resolve(name))))
        .findFirst();
  }
}
