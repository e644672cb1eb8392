// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Expectation of one program on the modelled GPU, whose kernels compute nothing: a line of
 * model-programs.txt, which says what the columns are.
 */
record ModelProgram(String name, Outcome outcome, String words) {
  private static final String LIST = "model-programs.txt";
  private static final Pattern ALL_CALLS = Pattern.compile("FAILED \\d+ results are wrong\n\\z");

  /** A call of CUDA's that failed, as the programs say it. */
  private static final Pattern FAILED_CALL =
      Pattern.compile("FAILED \\S+:\\d+: .* is [1-9]\\d* ", Pattern.MULTILINE);

  enum Outcome {
    PASSES,
    RESULTS,
    ENDS,
    STOPS,
    NEEDS
  }

  /** All lines of the list. */
  static List<ModelProgram> all() {
    try (InputStream list = ModelProgram.class.getResourceAsStream(LIST)) {
      return new String(list.readAllBytes(), UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .map(ModelProgram::parse)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ModelProgram parse(String line) {
    String[] columns = line.split("\\|", -1);
    assertThat(columns).as("columns of \"" + line + "\" in " + LIST).hasSize(4);
    Outcome outcome = Outcome.valueOf(columns[1].strip().toUpperCase(Locale.ROOT));
    String why = columns[3].strip();
    assertThat(why.isEmpty())
        .as("whether \"" + line + "\" of " + LIST + " has no reason")
        .isEqualTo(outcome == Outcome.RESULTS);
    return new ModelProgram(columns[0].strip(), outcome, columns[2].strip());
  }

  /** What it has in its environment. */
  Map<String, String> environment() {
    return switch (outcome) {
      case RESULTS, ENDS, NEEDS -> Map.of("GO_ON_AFTER_WRONG_RESULTS", "1");
      case PASSES, STOPS -> Map.of();
    };
  }

  /** Checks how it has ended where it was left alone. */
  void check(Program.Ended ended) {
    checkCalls(ended);
    if (outcome != Outcome.NEEDS) {
      assertThat(ended.errors())
          .doesNotContainPattern("gpupool: (?!out of memory: of the lease's)");
    }
  }

  /** Checks what has come of its calls, whether or not it was told of its connections. */
  void checkCalls(Program.Ended ended) {
    assertThat(ended.status()).as(ended.toString()).isEqualTo(outcome == Outcome.PASSES ? 0 : 1);
    String said = ended.output();
    switch (outcome) {
      case PASSES -> assertThat(said).as(ended.toString()).contains("OK " + words);
      case RESULTS ->
          assertThat(said)
              .as(ended.toString())
              .contains("FAILED " + words)
              .containsPattern(ALL_CALLS);
      case ENDS -> assertThat(said).as(ended.toString()).endsWith(words + "\n");
      case STOPS -> assertThat(said).as(ended.toString()).contains("FAILED " + words);
      case NEEDS ->
          assertThat(said)
              .as(ended.toString())
              .containsPattern("FAILED .* is " + Pattern.quote(words));
    }
    if (outcome != Outcome.NEEDS) {
      assertThat(said).as(ended.toString()).doesNotContainPattern(FAILED_CALL);
    }
  }
}
