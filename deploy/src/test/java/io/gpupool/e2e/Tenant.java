// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;

/** The fixture {@code tenant} under {@code gpupool run}: does as it is told, line by line. */
final class Tenant implements AutoCloseable {
  private final Program run;
  private final long pid;

  private Tenant(Program run) {
    this.run = run;
    run.awaitLine("ready"::equals);
    this.pid = ask("pid").getFirst();
  }

  /** Starts one on its share of the pool, and waits until it has used its GPU. */
  static Tenant start(Pool pool, String... share) {
    return of(pool.run(share, CPrograms.fixture("tenant"), Distribution.KERNELS).start());
  }

  /** Takes over a program that was started in another way. */
  static Tenant of(Program program) {
    try {
      return new Tenant(program);
    } catch (AssertionError e) {
      program.close();
      throw e;
    }
  }

  /** The numbers of its answer to a command. */
  List<Long> ask(String command) {
    run.send(command);
    return answer(command.split(" ", 2)[0]);
  }

  /** The numbers of its answer to a command that it was told before. */
  List<Long> answer(String verb) {
    String answer = run.awaitLine(line -> line.startsWith(verb + " "));
    return Arrays.stream(answer.substring(verb.length() + 1).split(" "))
        .map(Long::valueOf)
        .toList();
  }

  void tell(String command) {
    run.send(command);
  }

  /** Computes something whose result it checks. */
  void assertWorks() {
    assertThat(ask("work 5")).as(run.report()).containsExactly(0L);
  }

  /** Sees the work that {@code steady} began go on, ends it, and that nothing went wrong in it. */
  void assertWorkedSteadily() {
    List<Long> answer = ask("stop");
    assertThat(answer.getFirst())
        .as("result of the work in the background of %s", run.report())
        .isZero();
    assertThat(answer.get(1)).as("rounds").isGreaterThan(1);
  }

  /** The program's own process id; {@link #run} is that of {@code gpupool run}. */
  long pid() {
    return pid;
  }

  Program run() {
    return run;
  }

  @Override
  public void close() {
    run.close();
  }
}
