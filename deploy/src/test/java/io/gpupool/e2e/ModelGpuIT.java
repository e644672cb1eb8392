// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples in C and one in four of those in CUDA, or all with {@code -Dgpupool.cuda.all=true},
 * on modelled GPUs: the way that a program's calls take to NVIDIA's driver, from the shim to the
 * worker's nvidia backend and into a driver that computes nothing.
 */
class ModelGpuIT {
  private static final int ONE_IN = 4;
  private static final Path C_EXAMPLES = Distribution.EXAMPLES.resolve("driver-api");
  private static final String IN_C = "driver-api/";

  private static final Map<String, ModelProgram> LISTED =
      ModelProgram.all().stream()
          .collect(Collectors.toMap(ModelProgram::name, Function.identity()));

  private static ModelGpu gpus;
  private static CudaRuns runs;

  @BeforeAll
  static void startPool(@TempDir Path folder) throws IOException {
    CudaRuns.assumeCompiler();
    gpus = ModelGpu.start("gpus=2,mem=8Gi,context=16Mi,sm=16");
    runs = CudaRuns.on(gpus.pool(), folder);
  }

  @AfterAll
  static void stopPool() {
    if (runs != null) {
      runs.close();
    }
    if (gpus != null) {
      gpus.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_inCuda_makeAllTheirCalls() throws IOException {
    Map<String, CompletableFuture<Program.Ended>> ended = new TreeMap<>();
    for (Path program : CudaRuns.programs("O3", "static", ONE_IN)) {
      String name = program.getFileName().toString();
      Map<String, String> environment =
          LISTED.containsKey(name) ? LISTED.get(name).environment() : Map.of();
      ended.put(name, runs.run(program, environment));
    }
    return tests(ended);
  }

  @TestFactory
  Stream<DynamicTest> programs_inC_makeAllTheirCalls() throws IOException {
    Map<String, CompletableFuture<Program.Ended>> ended = new TreeMap<>();
    for (String name : examplesInC()) {
      ended.put(IN_C + name, runs.run(CPrograms.example(name), Distribution.KERNELS));
    }
    return tests(ended);
  }

  @Test
  void list_ofPrograms_hasNoneThatIsNotThere() throws IOException {
    List<String> there =
        Stream.concat(CudaRuns.all().stream(), examplesInC().stream().map(name -> IN_C + name))
            .toList();
    assertThat(there).containsAll(LISTED.keySet());
  }

  private static Stream<DynamicTest> tests(Map<String, CompletableFuture<Program.Ended>> programs) {
    return programs.entrySet().stream()
        .map(program ->
            DynamicTest.dynamicTest(
                program.getKey(), () -> check(program.getKey(), program.getValue().join())));
  }

  private static void check(String name, Program.Ended ended) {
    assertThat(LISTED)
        .as("model-programs.txt has no line for %s, which ended so: %s", name, ended)
        .containsKey(name);
    LISTED.get(name).check(ended);
  }

  private static List<String> examplesInC() throws IOException {
    try (Stream<Path> files = Files.list(C_EXAMPLES)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".c"))
          .map(name -> name.substring(0, name.length() - 2))
          .sorted()
          .toList();
    }
  }
}
