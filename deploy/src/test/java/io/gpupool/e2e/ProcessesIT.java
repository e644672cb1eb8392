// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Processes of one lease, which end in every way that programs do: each as on a GPU of its own, and
 * two seconds later the server has nothing left of it. {@code -Dgpupool.processes.short=200} has as
 * many short ones follow each other.
 */
class ProcessesIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final int SHORT = Integer.getInteger("gpupool.processes.short", 4);
  private static final int AT_A_TIME = 4;
  private static final long LEASE_BYTES = 1L << 30;
  private static final int KILLED = 128 + 9;
  private static final int ABORTED = 128 + 6;
  private static final long INVALID_VALUE = 1;
  private static final long OUT_OF_MEMORY = 2;
  private static final long LENT_BYTES = 32 << 20;

  private static Pool pool;
  private static Program holder;
  private static String agent;
  private static String lease;

  @BeforeAll
  static void holdLease() {
    pool = Pool.start("soft:1,mem=2Gi");
    String tell = "echo $GPUPOOL_AGENT; echo $GPUPOOL_LEASE; exec cat";
    holder = pool.run(new String[] {"-p", "0.5"}, "sh", "-c", tell).start();
    agent = holder.awaitLine(line -> !line.isEmpty());
    lease = holder.awaitLine(line -> !line.isEmpty());
  }

  @AfterAll
  static void giveBack() {
    if (holder != null) {
      holder.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void server_isCleanSoon() {
    await()
        .atMost(Pool.CLEAN)
        .pollInterval(Duration.ofMillis(20))
        .pollInSameThread()
        .untilAsserted(() -> {
          assertThat(pool.sessions()).isEmpty();
          assertThat(usedBytes()).as("memory of the lease").isZero();
        });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "fork-first",
        "fork-late",
        "exec",
        "spawn",
        "threads",
        "exit-handlers",
        "destructors",
        "unload",
        "workers"
      })
  void program_thatEndsByItself_endsAsItWould(String way) {
    Program.Ended ended = endings(way).run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.errors()).isEmpty();
    assertThat(ended.output()).doesNotContain("FAILED");
    assertThat(ended.output().lines().toList())
        .as(ended.toString())
        .contains(way.equals("exit-handlers") ? "freed late, value 3" : "done");
  }

  @ParameterizedTest
  @CsvSource({"launching, KILL", "copying, KILL", "spinning, KILL", "spinning, TERM"})
  void program_killedAtWork_leavesNothing(String way, String signal) {
    try (Program program = endings(way).start()) {
      program.awaitLine("ready"::equals);
      long worker = pool.sessionOf(program.pid()).getWorkerPid();
      program.signal(signal);
      assertThat(program.awaitEnd().status()).isEqualTo(signal.equals("KILL") ? KILLED : 128 + 15);
      await()
          .atMost(Pool.CLEAN)
          .pollInterval(Duration.ofMillis(20))
          .untilAsserted(() -> assertThat(ProcessHandle.of(worker)).isEmpty());
    }
  }

  @Test
  void program_thatAborts_endsBySignal() {
    assertThat(endings("abort").run().status()).isEqualTo(ABORTED);
  }

  @Test
  void program_stoppedForAWhile_goesOn() {
    try (Program program = endings("steady").start()) {
      program.awaitLine(line -> line.startsWith("round"));
      program.signal("STOP");
      try (Program other = endings("plain").start()) {
        assertThat(other.awaitEnd().status()).isZero();
      }
      program.signal("CONT");
      int last = (int) program.output().lines().count();
      program.awaitLine(line -> line.equals("round " + (last + 5)));
      assertThat(program.isAlive()).isTrue();
    }
  }

  @Test
  void programs_oneAfterTheOtherAndAtOnce_allWork() {
    long begin = System.nanoTime();
    for (int done = 0; done < SHORT; done += AT_A_TIME) {
      List<Program> programs =
          IntStream.range(0, AT_A_TIME).mapToObj(i -> endings("plain").start()).toList();
      for (Program program : programs) {
        try (program) {
          assertThat(program.awaitEnd(PATIENCE).status()).as(program.report()).isZero();
        }
      }
    }
    System.out.printf(
        "ProcessesIT: %d processes, %d at a time, in %.1f s%n",
        SHORT, AT_A_TIME, (System.nanoTime() - begin) / 1e9);
  }

  @Test
  void twoPrograms_ofOneLease_shareItsQuota() {
    long large = LEASE_BYTES * 6 / 10;
    try (Program one = endings("memory", Long.toString(large)).start()) {
      List<Long> granted = memory(one);
      assertThat(granted.getFirst()).isZero();
      assertThat(granted.get(1)).isBetween(LEASE_BYTES - large - (1 << 20), LEASE_BYTES - large);
      assertThat(granted.get(2)).isEqualTo(LEASE_BYTES);
      try (Program other = endings("memory", Long.toString(large)).start()) {
        List<Long> refused = memory(other);
        assertThat(refused.getFirst()).isEqualTo(OUT_OF_MEMORY);
        one.send("");
        assertThat(memory(one).subList(1, 3)).isEqualTo(refused.subList(1, 3));
        one.kill();
        awaitSessions(1);
        other.send("");
        assertThat(memory(other).get(1)).isGreaterThan(large);
      }
    }
  }

  @Test
  void sharedMemory_freedOrItsProcessKilled_staysForThoseWhoHaveIt() {
    try (Program lender = endings("lend").start()) {
      String handle = lender.awaitLine(line -> line.startsWith("handle ")).substring(7);
      try (Program one = borrow(handle);
          Program two = borrow(handle)) {
        assertWords(one);
        assertThat(borrowed(forged(handle))).isEqualTo(INVALID_VALUE);
        assertThat(borrowedByAnotherLease(handle)).isEqualTo(INVALID_VALUE);
        two.kill();
        awaitSessions(2);
        lender.send("free");
        List<Long> freed = numbers(lender, "lent ");
        assertThat(freed.getFirst()).isZero();
        assertThat(freed.get(1)).as("still in use").isLessThan(LEASE_BYTES - LENT_BYTES);
        assertThat(borrowed(handle)).as("of freed memory").isEqualTo(INVALID_VALUE);
        assertWords(one);
        lender.kill();
        awaitSessions(1);
        assertWords(one);
        assertThat(usedBytes()).as("memory of the lease").isGreaterThan(LENT_BYTES);
      }
    }
  }

  @Test
  void sharedMemory_whoHadItKilled_isFreeOnceFreed() {
    try (Program lender = endings("lend").start()) {
      String handle = lender.awaitLine(line -> line.startsWith("handle ")).substring(7);
      lender.send("tell");
      long before = numbers(lender, "lent ").get(1);
      try (Program borrower = borrow(handle)) {
        assertWords(borrower);
        lender.send("free");
        numbers(lender, "lent ");
        borrower.kill();
        awaitSessions(1);
      }
      lender.send("tell");
      assertThat(numbers(lender, "lent ").get(1)).isGreaterThanOrEqualTo(before + LENT_BYTES);
    }
  }

  private static Program borrow(String handle) {
    Program program = endings("borrow", handle).start();
    assertThat(numbers(program, "borrowed ")).containsExactly(0L);
    return program;
  }

  /** The result of opening a handle. */
  private static long borrowed(String handle) {
    try (Program program = endings("borrow", handle).start()) {
      program.endInput();
      return numbers(program, "borrowed ").getFirst();
    }
  }

  private static long borrowedByAnotherLease(String handle) {
    Object[] command = {CPrograms.fixture("endings"), "borrow", Distribution.KERNELS, handle};
    try (Program program = pool.run(new String[] {"-p", "0.25"}, command).start()) {
      program.endInput();
      return numbers(program, "borrowed ").getFirst();
    }
  }

  private static String forged(String handle) {
    return (handle.charAt(0) == '0' ? "1" : "0") + handle.substring(1);
  }

  private static void assertWords(Program borrower) {
    borrower.send("");
    assertThat(numbers(borrower, "words ")).containsExactly(0L, 42L, 42L);
  }

  private static List<Long> numbers(Program program, String verb) {
    String line = program.awaitLine(text -> text.startsWith(verb));
    return Arrays.stream(line.substring(verb.length()).split(" ")).map(Long::valueOf).toList();
  }

  @Test
  void run_ofSeveralProgramsAtOnce_endsWithTheLast() {
    String script = "\"$0\" plain \"$1\" & \"$0\" plain \"$1\" & wait";
    Program.Ended ended =
        pool.run(
                new String[] {"-p", "0.25"},
                "sh",
                "-c",
                script,
                CPrograms.fixture("endings"),
                Distribution.KERNELS)
            .run();
    assertThat(ended.status()).isZero();
    assertThat(ended.output()).isEqualTo("done\ndone\n");
  }

  @Test
  void run_whoseParentIsKilled_goesOnAndEnds(@TempDir Path folder) throws IOException {
    Path output = Files.createFile(folder.resolve("output"));
    String script = "out=$1; shift; \"$@\" >\"$out\" & echo run $!; wait";
    List<Object> command = new ArrayList<>(List.of("sh", "-c", script, "sh", output));
    command.addAll(List.of(Distribution.gpupool(), "run", "--pool", pool.address()));
    command.addAll(List.of("-p", "0.25", "--"));
    command.addAll(List.of(CPrograms.fixture("endings"), "steady", Distribution.KERNELS));
    try (Program parent = Program.of(command.toArray()).start()) {
      long run = Long.parseLong(parent.awaitLine(line -> line.startsWith("run ")).substring(4));
      await().atMost(PATIENCE).until(() -> Files.size(output) > 0);
      parent.kill();
      assertThat(parent.awaitEnd().status()).isEqualTo(KILLED);
      long written = Files.size(output);
      await().atMost(PATIENCE).until(() -> Files.size(output) > written + 100);
      Signals.send("TERM", Long.toString(run));
      await().atMost(Pool.CLEAN).untilAsserted(() -> assertThat(pool.leases()).hasSize(1));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"fork", "spawn"})
  void dataLoader_ofFourWorkers_endsAndLeavesNothing(String start) {
    String python = PyTorch.assumed().interpreter();
    Path script = Distribution.DEPLOY.resolve("src/test/python/data_loader.py");
    Program.Ended ended = onLease(python, script, start).run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("data_loader: OK");
  }

  private static Program.Builder endings(String way, Object... more) {
    List<Object> command = new ArrayList<>(List.of(CPrograms.fixture("endings"), way));
    command.add(Distribution.KERNELS);
    command.addAll(List.of(more));
    return onLease(command.toArray());
  }

  private static Program.Builder onLease(Object... command) {
    return Program.of(command)
        .with("LD_LIBRARY_PATH", Distribution.SHIM)
        .with("GPUPOOL_AGENT", agent)
        .with("GPUPOOL_LEASE", lease);
  }

  /** Result of the allocation, free bytes, all bytes. */
  private static List<Long> memory(Program program) {
    return numbers(program, "memory ");
  }

  private static void awaitSessions(int count) {
    await().atMost(Pool.CLEAN).untilAsserted(() -> assertThat(pool.sessions()).hasSize(count));
  }

  private static long usedBytes() {
    return pool.leases().stream()
        .map(LeaseInfo::getGrantsList)
        .flatMap(List::stream)
        .mapToLong(use -> use.getUsedMemoryBytes())
        .sum();
  }
}
