// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gpupool run}: the program computes, and what goes in and out of it is its own. */
class RunIT {
  private static final String[] HALF = {"-p", "0.5"};
  private static final String[] WHOLE = {};
  private static final Duration SOON = Duration.ofSeconds(20);

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.startAsInstalled("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pool.awaitIdle();
  }

  @Test
  void run_programOnDriverApi_computesOnThePool() {
    Program.Ended ended = assertComputes(pool);
    assertThat(ended.output()).contains("512 MiB");
    assertThat(ended.errors()).isEmpty();
  }

  @Test
  void run_programLinkedToLibcuda_computesOnThePool() {
    Program.Ended ended =
        pool.run(HALF, CPrograms.linkedExample("vector_add"), Distribution.KERNELS).run();
    assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
  }

  @Test
  void run_programOnJcuda_computesOnThePool() {
    Path jcuda = Distribution.EXAMPLES.resolve("jcuda/target");
    Program.Ended ended =
        pool.run(
                HALF,
                Path.of(System.getProperty("java.home"), "bin/java"),
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.library.path=" + jcuda.resolve("native"),
                "-jar",
                jcuda.resolve("example-jcuda.jar"),
                Distribution.KERNELS)
            .run();
    assertThat(ended.output()).as(ended.toString()).contains("jcuda: OK");
  }

  @Test
  void run_exitStatus_isTheProgramsOwn() {
    assertThat(pool.run(HALF, "sh", "-c", "exit 37").run().status()).isEqualTo(37);
    assertThat(pool.run(HALF, "sh", "-c", "kill -TERM $$").run().status()).isEqualTo(128 + 15);
    assertThat(pool.run(HALF, "/nonexistent/program").run().status()).isEqualTo(127);
  }

  @Test
  void run_poolFull_waitsItsTurnAndSaysItsPlace() {
    try (Program first = pool.run(WHOLE, "sh", "-c", "echo first; exec cat").start()) {
      first.awaitLine("first"::equals);
      try (Program second = waiting("0", "second").start()) {
        second.awaitErrorLine(line -> line.contains("waiting for GPUs, place 1"));
        try (Program third = waiting("5", "third").start()) {
          third.awaitErrorLine(line -> line.contains("waiting for GPUs, place 1"));
          second.awaitErrorLine(line -> line.contains("waiting for GPUs, place 2"));
          assertThat(pool.gpupool("lease", "queue").output())
              .containsSubsequence("PLACE", " 5 ", "all of 1 GPU", "\n2 ", " 0 ", "lease L");
        }
        // Killed, so its request is withdrawn.
        second.awaitErrorLine(line -> line.contains("waiting for GPUs, place 1"));
        first.endInput();
        assertThat(first.awaitEnd().status()).isZero();
        assertThat(second.awaitEnd().output()).isEqualTo("second\n");
      }
    }
  }

  @Test
  void run_waitTooShort_saysHowLongItWaitedAndForWhom() {
    try (Program first = pool.run(WHOLE, "sh", "-c", "echo first; exec cat").start()) {
      first.awaitLine("first"::equals);
      Program.Ended ended = pool.run(new String[] {"--wait", "100ms"}, "true").run();
      assertThat(ended.status()).isEqualTo(75);
      assertThat(ended.errors())
          .contains("waited 0.1s", "in use by lease L", "a larger --wait waits longer");
    }
  }

  @Test
  void run_standardStreams_passThroughBytes() {
    try (Program cat = pool.run(HALF, "sh", "-c", "echo to stderr >&2; exec cat").start()) {
      cat.send("one");
      assertThat(cat.awaitLine("one"::equals)).isEqualTo("one");
      cat.send("two\u00e9");
      cat.endInput();
      Program.Ended ended = cat.awaitEnd();
      assertThat(ended.output()).isEqualTo("one\ntwo\u00e9\n");
      assertThat(ended.errors()).isEqualTo("to stderr\n");
      assertThat(ended.status()).isZero();
    }
  }

  @Test
  void run_signal_reachesTheProgram() {
    String script = "trap 'echo caught; exit 9' TERM; echo trapping; while :; do sleep 0.05; done";
    try (Program program = pool.run(HALF, "sh", "-c", script).start()) {
      program.awaitLine("trapping"::equals);
      program.signal("TERM");
      assertThat(program.awaitEnd().status()).isEqualTo(9);
      assertThat(program.output()).contains("caught");
    }
  }

  @Test
  void run_underNohup_goesOnWhenItsTerminalIsGone() {
    String line = Distribution.gpupool() + " run --pool " + pool.address() + " -p 0.5 -- cat";
    try (Program program = Program.of("sh", "-c", "trap '' HUP; exec " + line).start()) {
      program.send("before");
      program.awaitLine("before"::equals);
      program.signal("HUP");
      program.send("after");
      program.awaitLine("after"::equals);
      program.endInput();
      assertThat(program.awaitEnd().status()).as(program.report()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"TERM", "INT", "HUP"})
  void run_signalAtTheMomentOfTheGrant_leavesNoLease(String signal) {
    for (int run = 0; run < 3; run++) {
      try (Program program = pool.run(WHOLE, "sleep", "600").start()) {
        while (pool.leases().isEmpty()) {
          assertThat(program.isAlive()).as(program.report()).isTrue();
        }
        program.signal(signal);
        assertThat(program.awaitEnd().status()).as(program.report()).isNotZero();
        pool.awaitFreeBytes(1L << 30);
      }
    }
  }

  @Test
  void run_signalWhileItsRequestWaits_leavesNoLeaseEvenIfItIsGrantedMeanwhile() {
    for (int run = 0; run < 3; run++) {
      try (Program first = pool.run(WHOLE, "sh", "-c", "echo held; exec cat").start()) {
        first.awaitLine("held"::equals);
        try (Program second = pool.run(new String[] {"--wait", "10m"}, "sleep", "600").start()) {
          second.awaitErrorLine(line -> line.contains("waiting for GPUs"));
          first.endInput();
          if (run > 0) {
            first.awaitEnd();
          }
          second.signal("TERM");
          second.awaitEnd();
          pool.awaitFreeBytes(1L << 30);
        }
      }
    }
  }

  @Test
  void run_killedWhileTheProgramWorks_leavesNothing(@TempDir Path runtime) {
    String mark = UUID.randomUUID().toString();
    try (Tenant tenant =
        Tenant.of(
            pool.run(HALF, CPrograms.fixture("tenant"), Distribution.KERNELS)
                .with("GPUPOOL_TEST_MARK", mark)
                .with("GPUPOOL_RESUME_WINDOW", "0")
                .with("XDG_RUNTIME_DIR", runtime)
                .with("TMPDIR", runtime)
                .start())) {
      tenant.ask("steady");
      assertThat(Processes.withVariable("GPUPOOL_TEST_MARK", mark)).isNotEmpty();
      tenant.run().kill();
      await()
          .atMost(SOON)
          .untilAsserted(
              () -> assertThat(Processes.withVariable("GPUPOOL_TEST_MARK", mark)).isEmpty());
      pool.awaitFreeBytes(1L << 30);
      await().atMost(SOON).untilAsserted(() -> assertThat(runtime).isEmptyDirectory());
    }
  }

  @Test
  void run_withoutPool_startsOneAndLeavesNothing(@TempDir Path runtime) {
    String mark = UUID.randomUUID().toString();
    Program.Ended ended =
        Program.of(
                Distribution.gpupool(),
                "run",
                "-p",
                "0.5",
                "--",
                CPrograms.example("vector_add"),
                Distribution.KERNELS)
            .with("GPUPOOL_TEST_MARK", mark)
            .with("XDG_RUNTIME_DIR", runtime)
            .with("TMPDIR", runtime)
            .run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("vector_add: OK");
    await()
        .atMost(SOON)
        .untilAsserted(
            () -> assertThat(Processes.withVariable("GPUPOOL_TEST_MARK", mark)).isEmpty());
    await().atMost(SOON).untilAsserted(() -> assertThat(runtime).isEmptyDirectory());
  }

  @Test
  void run_poolThatIsNotThere_namesThePoolAndWhatToDo() {
    Program.Ended ended =
        Program.of(Distribution.gpupool(), "run", "--pool", "127.0.0.1:1", "--", "true").run();
    assertThat(ended.status()).isEqualTo(69);
    assertThat(ended.errors()).contains("127.0.0.1:1").contains("gpupool server");
  }

  @Test
  void run_namedDriverThatIsNotThere_isAnErrorAndNoSoftwareGpu() {
    Program.Ended ended =
        Program.of(
                Distribution.gpupool(), "run", "--libcuda", "/nowhere/libcuda.so.1", "--", "true")
            .run();
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors())
        .contains("/nowhere/libcuda.so.1")
        .doesNotContain("1 GPU in software");
  }

  static Program.Ended assertComputes(Pool pool) {
    Program.Ended ended =
        pool.run(HALF, CPrograms.example("vector_add"), Distribution.KERNELS).run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("vector_add: OK");
    return ended;
  }

  private static Program.Builder waiting(String priority, String word) {
    return pool.run(new String[] {"--wait", "1m", "--priority", priority}, "echo", word);
  }
}
