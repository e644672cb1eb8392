// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Runs of the programs of examples/cuda, as nvcc compiles them, on one pool: they find one agent,
 * and run two at a time.
 */
final class CudaRuns implements AutoCloseable {
  private static final boolean ALL = Boolean.getBoolean("gpupool.cuda.all");
  private static final Path SOURCES = Distribution.EXAMPLES.resolve("cuda");
  private static final String SUFFIX = ".cu";
  private static final Duration RUNNING = Duration.ofMinutes(3);
  private static final int AT_A_TIME = 2;

  /** Of a GPU: 1 GiB for each, and place for the processes that some of them start. */
  private static final String SHARE = "0.125";

  /** A program that has a line with these words wants two GPUs; the others get one. */
  private static final String WANTS_TWO_GPUS = "// gpus: 2";

  /** A program that has a line with these words uses up all its memory, and gets the less of it. */
  private static final String FILLS_ITS_MEMORY = "// memory: 256Mi";

  /** A program that has a line with these words starts others, which are to share its lease. */
  private static final String IS_SEVERAL_PROCESSES = "// processes: 2";

  private final Path nvcc;
  private final Pool pool;
  private final Agent agent;
  private final ExecutorService runners = Executors.newFixedThreadPool(AT_A_TIME);

  private CudaRuns(Path nvcc, Pool pool, Agent agent) {
    this.nvcc = nvcc;
    this.pool = pool;
    this.agent = agent;
  }

  /** Skips the tests, with a message, where the programs cannot be compiled. */
  static void assumeCompiler() {
    assumeTrue(onPath("nvcc").isPresent(), "the CUDA programs need nvcc, which is not on the PATH");
    assumeTrue(onPath("make").isPresent(), "the CUDA programs need make, which is not on the PATH");
  }

  /** Starts the agent of a pool, which has two GPUs of 8 GiB. */
  static CudaRuns on(Pool pool, Path folder) throws IOException {
    return new CudaRuns(onPath("nvcc").orElseThrow().toRealPath(), pool, Agent.start(pool, folder));
  }

  /** One in so many of the programs, compiled, each day others; all if all are asked for. */
  static List<Path> programs(String optimise, String cudart, int oneIn) throws IOException {
    return programs(optimise, cudart, ALL ? 1 : oneIn, turnOfToday());
  }

  /** The turn of the programs that a build runs today; {@code -Dgpupool.cuda.turn=N} chooses. */
  static int turnOfToday() {
    return Integer.getInteger("gpupool.cuda.turn", LocalDate.now(ZoneOffset.UTC).getDayOfYear());
  }

  /**
   * One in so many of the programs, compiled.
   *
   * @param turn which of them: after {@code oneIn} turns all have had theirs
   */
  static List<Path> programs(String optimise, String cudart, int oneIn, int turn)
      throws IOException {
    List<String> all = names();
    Set<String> names =
        IntStream.range(0, all.size())
            .filter(i -> i % oneIn == turn % oneIn)
            .mapToObj(all::get)
            .collect(Collectors.toSet());
    Path made = CudaPrograms.make(optimise, cudart, String.join(" ", names));
    try (Stream<Path> files = Files.list(made)) {
      return files.filter(file -> isWanted(names, file)).sorted().toList();
    }
  }

  /** Begins as soon as a runner is free. */
  CompletableFuture<Program.Ended> run(Path program, Map<String, String> environment) {
    return CompletableFuture.supplyAsync(() -> ended(program, environment), runners);
  }

  /** A program of another kind, which is like those with no words for this. */
  CompletableFuture<Program.Ended> run(Object... command) {
    return CompletableFuture.supplyAsync(
        () -> agent.program(command).with("GPUPOOL_FRACTION", SHARE).run(RUNNING), runners);
  }

  private Program.Ended ended(Path program, Map<String, String> environment) {
    Program.Builder builder = builder(program);
    environment.forEach(builder::with);
    return builder.run(RUNNING);
  }

  private Program.Builder builder(Path program) {
    if (says(program, IS_SEVERAL_PROCESSES)) {
      // Of one lease, which each would have of its own from the agent.
      return pool.run(new String[] {"-p", SHARE}, program)
          .with("LD_LIBRARY_PATH", toolkitLibraries());
    }
    boolean fills = says(program, FILLS_ITS_MEMORY);
    return agent
        .program(program)
        .with("LD_LIBRARY_PATH", Distribution.SHIM + ":" + toolkitLibraries())
        .with("GPUPOOL_FRACTION", fills ? "" : SHARE)
        .with("GPUPOOL_MEMORY", fills ? "256Mi" : "")
        .with("GPUPOOL_GPUS", says(program, WANTS_TWO_GPUS) ? 2 : 1);
  }

  /** All programs, those of several files, too. */
  static List<String> all() throws IOException {
    try (Stream<Path> folders = Files.list(SOURCES).filter(Files::isDirectory)) {
      return Stream.concat(names().stream(), folders.map(CudaRuns::nameOf)).toList();
    }
  }

  /** The programs of one file. */
  private static List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(SOURCES)) {
      return files
          .map(CudaRuns::nameOf)
          .filter(name -> name.endsWith(SUFFIX))
          .map(name -> name.substring(0, name.length() - SUFFIX.length()))
          .sorted()
          .toList();
    }
  }

  /** Not so what an earlier build left that is not asked for, or whose source is gone. */
  private static boolean isWanted(Set<String> names, Path program) {
    return names.contains(nameOf(program)) || Files.isDirectory(SOURCES.resolve(nameOf(program)));
  }

  /** Returns whether a program needs two GPUs. */
  static boolean wantsTwoGpus(Path program) {
    return says(program, WANTS_TWO_GPUS);
  }

  private static boolean says(Path program, String words) {
    Path source = SOURCES.resolve(nameOf(program) + SUFFIX);
    try {
      return Files.exists(source) && Files.readString(source).contains(words);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String nameOf(Path program) {
    return program.getFileName().toString();
  }

  /**
   * Where libcudart.so of the nvcc that is found lies; an installation may be a script elsewhere.
   */
  private String toolkitLibraries() {
    Path beside = nvcc.resolveSibling("../lib64").normalize();
    return (Files.isDirectory(beside) ? beside : Path.of("/usr/local/cuda/lib64")).toString();
  }

  private static Optional<Path> onPath(String program) {
    return Arrays.stream(System.getenv("PATH").split(":"))
        .map(folder -> Path.of(folder, program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  @Override
  public void close() {
    runners.shutdownNow();
    agent.close();
  }
}
