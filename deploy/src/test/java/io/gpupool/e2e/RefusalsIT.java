// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The reasons why code of a program cannot run, as they reach the program and the server's log. Run
 * by one thread.
 */
class RefusalsIT {
  private static final String[] WHOLE = {};

  /** Lines of one session, and the one that says that more are left out. */
  private static final int MAX_LINES = 51;

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=256Mi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void load_invalidPtx_namesKernelAndLineInJitLogAndOnce() {
    Program.Ended ended = run("invalid", "");
    String reason = "line 6, column 3; error   : ";

    assertThat(ended.output()).contains("load 218\nJIT log: ").endsWith("load 218\n");
    assertThat(ended.output().lines().filter(line -> line.startsWith("JIT log: ")))
        .hasSize(2)
        .allSatisfy(line -> assertThat(line).contains(reason, "'misspelt'", "; correct the PTX"));
    assertOneLine(ended, "CUDA_ERROR_INVALID_PTX: ", reason, "'misspelt'", "; correct the PTX");
  }

  @Test
  void launch_unsupportedInstruction_namesKernelAndLineOnce() {
    Program.Ended ended = run("unsupported", "");

    assertThat(ended.output()).isEqualTo("launch 801\nlaunch 801\n");
    assertOneLine(ended, "CUDA_ERROR_NOT_SUPPORTED: kernel single_bits: line 7", "software-gpu.md");
  }

  @Test
  void launch_faultingKernel_namesKernelAndLineOnce() {
    Program.Ended ended = run("fault", "");

    assertThat(ended.output()).isEqualTo("launch 700\nlaunch 700\n");
    assertOneLine(
        ended, "CUDA_ERROR_ILLEGAL_ADDRESS: ", "write_far", "line 8", "GPUPOOL_SOFT_CHECK=1");
  }

  @Test
  void launch_logTurnedOff_leavesStandardErrorEmpty() {
    for (String level : List.of("off", "error")) {
      Program.Ended ended = run("unsupported", level);

      assertThat(ended.output()).isEqualTo("launch 801\nlaunch 801\n");
      assertThat(ended.errors()).as(level).isEmpty();
    }
  }

  @Test
  void load_controlCharacterInPtx_isEscaped() {
    Program.Ended ended = run("escape", "");

    assertThat(ended.errors()).contains("CUDA_ERROR_INVALID_PTX: ").doesNotContain("\u001b");
    assertThat(pool.server().errors()).doesNotContain("\u001b");
  }

  @Test
  void load_endlesslyManyInvalidImages_writesBoundedlyManyLines() {
    Program.Ended ended = run("flood", "");

    assertThat(ended.errors().lines()).hasSize(MAX_LINES);
    assertThat(ended.errors()).endsWith("left out, after 50\n");
    await().untilAsserted(() -> assertThat(serverLines(ended)).hasSize(MAX_LINES - 1));
  }

  private static Program.Ended run(String kind, String level) {
    Program.Ended ended =
        pool.run(WHOLE, CPrograms.fixture("refusals"), kind).with("GPUPOOL_LOG", level).run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    return ended;
  }

  /**
   * The program has one line with these parts, and the server's log has it once, with its place.
   */
  private static void assertOneLine(Program.Ended ended, String... parts) {
    assertThat(ended.errors().lines()).hasSize(1);
    assertThat(ended.errors()).startsWith("gpupool: CUDA_ERROR_").contains(parts);
    await().untilAsserted(() -> assertThat(serverLines(ended)).hasSize(1));
    assertThat(serverLines(ended).getFirst())
        .matches("gpupool worker: lease L\\d+ session \\S+ of pid \\d+ refusals on .*")
        .contains(parts);
  }

  /** The lines of the server's log that have a diagnosis of the program's, of the last session. */
  private static List<String> serverLines(Program.Ended ended) {
    Set<String> diagnoses =
        ended
            .errors()
            .lines()
            .map(line -> line.replaceFirst("gpupool: ", ""))
            .collect(Collectors.toSet());
    List<String> lines =
        pool.server()
            .errors()
            .lines()
            .filter(line -> diagnoses.stream().anyMatch(line::endsWith))
            .filter(line -> line.contains("CUDA_ERROR_"))
            .toList();
    if (lines.isEmpty()) {
      return lines;
    }
    return lines.stream().filter(line -> session(line).equals(session(lines.getLast()))).toList();
  }

  private static String session(String line) {
    return line.replaceFirst(".* session (\\S+) .*", "$1");
  }
}
