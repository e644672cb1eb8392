// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The ranks of a communicator, each a program of its own under {@code gpupool run}. */
final class Ranks implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final String SHARE = "0.2";

  private final Path idFile;
  private final int count;
  private final List<Object> command;
  private final Map<String, Object> environment = new TreeMap<>();
  private final List<Program> programs = new ArrayList<>();

  /**
   * Ranks that nobody has started yet.
   *
   * @param folder for the identifier of this communicator alone
   * @param command of each rank, but for the options that make it one
   */
  Ranks(Path folder, int count, Object... command) {
    this.idFile = folder.resolve("id");
    this.count = count;
    this.command = List.of(command);
  }

  /** From now on starts ranks with a variable in their environment. */
  Ranks with(String variable, Object value) {
    environment.put(variable, value);
    return this;
  }

  /** Starts all, in turn on the first server of a pool and on the second one. */
  Ranks startOn(TwoServers pool) {
    for (int i = 0; i < count; i++) {
      start(pool.first(), "--select", "server=m" + i % 2);
    }
    return this;
  }

  /** Starts all on a pool of one server. */
  Ranks startOn(Pool pool) {
    for (int i = 0; i < count; i++) {
      start(pool);
    }
    return this;
  }

  /** Starts the next rank. */
  Program start(Pool pool, String... share) {
    Program program = startAs(programs.size(), pool, share);
    programs.add(program);
    return program;
  }

  /** Starts a program that says to be this rank; it is not one of those that end with these. */
  Program startAs(int rank, Pool pool, String... share) {
    List<String> lease = new ArrayList<>(List.of("-p", SHARE));
    lease.addAll(Arrays.asList(share));
    List<Object> line = new ArrayList<>(command);
    line.addAll(List.of("--ranks", count, "--rank", rank, "--id-file", idFile));
    Program.Builder builder = pool.run(lease.toArray(String[]::new), line.toArray());
    environment.forEach(builder::with);
    return builder.start();
  }

  Program get(int rank) {
    return programs.get(rank);
  }

  List<Program> all() {
    return List.copyOf(programs);
  }

  /** Waits for the end of all; each has printed this, which it does at a good end. */
  void awaitAll(String printed) {
    programs.forEach(program -> program.awaitEnd(PATIENCE));
    assertThat(programs)
        .as(() -> programs.stream().map(Program::report).collect(Collectors.joining("\n")))
        .allMatch(program -> program.output().contains(printed));
  }

  @Override
  public void close() {
    programs.forEach(Program::close);
  }
}
