// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs of examples/cuda as nvcc compiles them: with optimisation all, without it and with
 * the CUDA runtime beside them one in sixteen; all of those, too, with {@code
 * -Dgpupool.cuda.all=true}. They find one agent of one pool, and run two at a time.
 */
class CudaProgramsIT {
  private static final Path SOURCES = Distribution.EXAMPLES.resolve("cuda");
  private static final String SUFFIX = ".cu";
  private static final Duration RUNNING = Duration.ofMinutes(3);
  private static final int AT_A_TIME = 2;
  private static final int ONE_IN = Boolean.getBoolean("gpupool.cuda.all") ? 1 : 16;

  /** Of a GPU: 1 GiB for each, and place for the processes that some of them start. */
  private static final String SHARE = "0.125";

  /** A program that has a line with these words wants two GPUs; the others get one. */
  private static final String WANTS_TWO_GPUS = "// gpus: 2";

  /** A program that has a line with these words uses up all its memory, and gets the less of it. */
  private static final String FILLS_ITS_MEMORY = "// memory: 256Mi";

  /** A program that has a line with these words starts others, which are to share its lease. */
  private static final String IS_SEVERAL_PROCESSES = "// processes: 2";

  private static Path nvcc;
  private static Pool pool;
  private static Agent agent;
  private static ExecutorService runners;

  @BeforeAll
  static void startPool(@TempDir Path folder) throws IOException {
    Optional<Path> found = onPath("nvcc");
    assumeTrue(found.isPresent(), "the CUDA programs need nvcc, which is not on the PATH");
    assumeTrue(onPath("make").isPresent(), "the CUDA programs need make, which is not on the PATH");
    nvcc = found.get().toRealPath();
    // No program is to wait for a worker that warms up for the next one.
    pool = Pool.startAsInstalled("soft:2,mem=8Gi", "--spares", "0");
    agent = Agent.start(pool, folder);
    runners = Executors.newFixedThreadPool(AT_A_TIME);
  }

  @AfterAll
  static void stopPool() {
    if (runners != null) {
      runners.shutdownNow();
    }
    if (agent != null) {
      agent.close();
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
    return programs("O3", "static", 1);
  }

  @TestFactory
  Stream<DynamicTest> programs_optimisedWithSharedRuntime_passThroughThePool() throws IOException {
    return programs("O3", "shared", ONE_IN);
  }

  private static Stream<DynamicTest> programs(String optimise, String cudart, int oneIn)
      throws IOException {
    Set<String> names = names(oneIn);
    Path made = CudaPrograms.make(optimise, cudart, String.join(" ", names));
    String build = made.getFileName().toString();
    List<Path> programs;
    try (Stream<Path> files = Files.list(made)) {
      programs = files.filter(file -> isWanted(names, file)).sorted().toList();
    }
    return programs.stream().map(program -> test(program, build)).toList().stream();
  }

  /** Begins as soon as a runner is free; the test waits for the end. */
  private static DynamicTest test(Path program, String build) {
    var ended = CompletableFuture.supplyAsync(() -> run(program), runners);
    return DynamicTest.dynamicTest(
        program.getFileName() + " (" + build + ")", () -> assertOk(program, ended.join()));
  }

  private static Program.Ended run(Path program) {
    if (says(program, IS_SEVERAL_PROCESSES)) {
      // Of one lease, which each would have of its own from the agent.
      return pool.run(new String[] {"-p", SHARE}, program)
          .with("LD_LIBRARY_PATH", toolkitLibraries())
          .run(RUNNING);
    }
    boolean fills = says(program, FILLS_ITS_MEMORY);
    return agent
        .program(program)
        .with("LD_LIBRARY_PATH", Distribution.SHIM + ":" + toolkitLibraries())
        .with("GPUPOOL_FRACTION", fills ? "" : SHARE)
        .with("GPUPOOL_MEMORY", fills ? "256Mi" : "")
        .with("GPUPOOL_GPUS", says(program, WANTS_TWO_GPUS) ? 2 : 1)
        .run(RUNNING);
  }

  private static void assertOk(Path program, Program.Ended ended) {
    assertThat(ended.output()).as(ended.toString()).contains(program.getFileName() + ": OK");
    assertThat(ended.status()).as(ended.toString()).isZero();
  }

  /** One in so many of the programs of one file, spread over all of them. */
  private static Set<String> names(int oneIn) throws IOException {
    List<String> all;
    try (Stream<Path> files = Files.list(SOURCES)) {
      all =
          files
              .map(file -> file.getFileName().toString())
              .filter(name -> name.endsWith(SUFFIX))
              .map(name -> name.substring(0, name.length() - SUFFIX.length()))
              .sorted()
              .toList();
    }
    return IntStream.range(0, all.size())
        .filter(i -> i % oneIn == 0)
        .mapToObj(all::get)
        .collect(Collectors.toSet());
  }

  /** Not so what an earlier build left that is not asked for, or whose source is gone. */
  private static boolean isWanted(Set<String> names, Path program) {
    return names.contains(nameOf(program)) || Files.isDirectory(SOURCES.resolve(nameOf(program)));
  }

  private static boolean says(Path program, String words) {
    Path source = sourceOf(program);
    try {
      return Files.exists(source) && Files.readString(source).contains(words);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path sourceOf(Path program) {
    return SOURCES.resolve(nameOf(program) + SUFFIX);
  }

  private static String nameOf(Path program) {
    return program.getFileName().toString();
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
