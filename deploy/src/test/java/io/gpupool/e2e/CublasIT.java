// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** cuBLAS and NVIDIA's other libraries, as they are, computing by the PTX that they carry. */
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
  private static final List<String> SOLVERS =
      List.of("libcurand.so.10", "libcusolver.so.12", "libcusparse.so.12", "libcudart.so.13");
  private static final String NEWER_CARD = "soft:1,mem=1Gi,cc=13.0";

  // Modules of up to 16 MB of PTX are read, and their kernels compiled.
  private static final Duration PATIENCE = Duration.ofSeconds(180);

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
    program = linked("cublas", LIBRARIES);
  }

  @Test
  void cublas_onCard12_computesVectorsRight() {
    assertRight("soft:1,mem=1Gi,cc=12.0", "saxpy", "sdot", "snrm2", "isamax", "sscal");
  }

  @Test
  void cublas_onCardNewerThanItsMachineCode_computesMatricesRight() {
    assertRight(NEWER_CARD, "saxpy", "sdot", "sgemv", "sgemm", "gemmex-f16", "gemmex-tf32");
  }

  @Test
  void solversAndGenerators_onCardNewerThanTheirMachineCode_computeRight() {
    assumeTrue(
        SOLVERS.stream().allMatch(name -> Files.exists(folder.resolve(name))),
        "not all of " + SOLVERS + " are in " + folder);
    try (Pool pool = Pool.startAsInstalled(NEWER_CARD)) {
      assertEnds(pool, "solvers: 11 right, 0 not", linked("solvers", SOLVERS));
    }
  }

  private static Path linked(String fixture, List<String> libraries) {
    List<String> options =
        new ArrayList<>(libraries.stream().map(name -> folder.resolve(name).toString()).toList());
    options.add("-lm");
    // What the libraries need of each other.
    options.add("-Wl,-rpath-link," + folder);
    return CPrograms.fixture(fixture, "linked", options.toArray(String[]::new));
  }

  private static void assertRight(String gpus, String... calls) {
    List<Object> command = new ArrayList<>(List.of(program));
    command.addAll(Arrays.asList(calls));
    try (Pool pool = Pool.startAsInstalled(gpus)) {
      assertEnds(pool, "cublas: " + calls.length + " right, 0 not", command.toArray());
    }
  }

  private static void assertEnds(Pool pool, String last, Object... command) {
    Program.Ended ended = pool.run(WHOLE, command).with("LD_LIBRARY_PATH", folder).run(PATIENCE);
    assertThat(ended.output()).as(ended.toString()).contains(last);
    assertThat(ended.errors()).isEmpty();
  }

  private static Optional<Path> find() {
    String named = System.getenv("GPUPOOL_TEST_CUBLAS");
    if (named != null) {
      return Optional.of(Path.of(named));
    }
    String python = PyTorch.command();
    Program.Ended asked = Program.of(python, "-c", FIND).run();
    return Stream.of(asked.output().strip())
        .filter(path -> asked.status() == 0 && path.startsWith("/"))
        .map(Path::of)
        .filter(path -> LIBRARIES.stream().allMatch(name -> Files.exists(path.resolve(name))))
        .findFirst();
  }
}
