// SPDX-License-Identifier: Apache-2.0
package io.gpupool.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class GpupoolCommandTest {
  private final StringWriter output = new StringWriter();
  private final StringWriter errors = new StringWriter();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "run",
        "server",
        "agent",
        "container",
        "top",
        "completion",
        "list",
        "lease",
        "partition",
        "tenant",
        "audit",
        "health",
        "smi",
        "bench",
        "version"
      })
  void everyCommand_hasHelp(String command) {
    assertThat(execute(command, "--help")).isZero();
    assertThat(output.toString()).contains("Usage: gpupool " + command);
  }

  @ParameterizedTest
  @ValueSource(strings = {"run", "lease", "version"})
  void oneSubcommand_isAsAmongAll(String command) {
    execute(command, "--help");

    StringWriter alone = new StringWriter();
    GpupoolCommand.commandLine(command)
        .setOut(new PrintWriter(alone, true))
        .execute(command, "--help");

    assertThat(alone).hasToString(output.toString());
  }

  @Test
  void completion_ofOneSubcommandsProcess_knowsAllSubcommands() {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      GpupoolCommand.commandLine("completion").execute("completion", "bash");
    } finally {
      System.setOut(before);
    }

    assertThat(printed.toString(StandardCharsets.UTF_8)).contains("partition").contains("tenant");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | nothing is to be changed; give --compute, --hard or --lendable, --class or --latency",
        "--compute 0 | --compute 0.0: give 1 to 100 percent",
        "--compute 101 | --compute 101.0: give 1 to 100 percent",
        "--compute NaN | --compute NaN: give 1 to 100 percent",
        "--hard --lendable | give one",
        "--latency --class batch | give one",
        "--class gold | expected one of [batch, latency]",
      })
  void leaseUpdate_optionsThatCannotBe_areNamedBeforeAnythingIsAsked(String options, String says) {
    List<String> arguments = new ArrayList<>(List.of("lease", "update", "L12"));
    arguments.addAll(options.isEmpty() ? List.of() : List.of(options.split(" ")));

    PrintStream before = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
    int status;
    try {
      status = execute(arguments.toArray(String[]::new));
    } finally {
      System.setErr(before);
    }

    assertThat(status).isEqualTo(2);
    assertThat(errors + printed.toString(StandardCharsets.UTF_8)).contains(says);
  }

  @Test
  void version_saysWhatItSpeaks() {
    assertThat(new VersionCommand().getVersion()[0]).contains("gpupool").contains("CUDA");
  }

  @Test
  void run_optionsOfTheProgram_areTheProgramsOwn() {
    CommandLine.ParseResult run =
        GpupoolCommand.commandLine().parseArgs("run", "-p", "0.5", "--", "ls", "-p", "--help");

    assertThat(run.subcommand().matchedPositionals().getFirst().<List<String>>getValue())
        .containsExactly("ls", "-p", "--help");
  }

  @Test
  void bench_options_areOfTheCommandAndBehindTwoDashesOfTheProgram() {
    CommandLine.ParseResult bench =
        GpupoolCommand.commandLine()
            .parseArgs("bench", "soft", "--output", "json", "--", "--rounds", "1");
    CommandLine.ParseResult soft = bench.subcommand().subcommand();

    assertThat(soft.commandSpec().qualifiedName()).isEqualTo("gpupool bench soft");
    assertThat(soft.<Object>matchedOptionValue("--output", null)).hasToString("json");
    assertThat(soft.matchedPositionals().getFirst().<List<String>>getValue())
        .containsExactly("--rounds", "1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"all-reduce", "-b=8X", "-f=1", "-e=4", "-g=0", "-n=0", "--server=a"})
  void benchCollectives_wordThatCannotBe_isWrongUsage(String word) {
    assertThat(execute("bench", "collectives", word)).isEqualTo(2);
  }

  @Test
  void run_withoutACommand_isWrongUsage() {
    assertThat(execute("run", "-p", "0.5")).isEqualTo(2);
    assertThat(errors.toString()).contains("COMMAND");
  }

  @Test
  void option_thatDoesNotExist_isNamedWithoutTheWholeUsage() {
    assertThat(execute("run", "--tenant", "vision", "true")).isEqualTo(2);
    assertThat(errors.toString())
        .startsWith("gpupool: Unknown option: '--tenant'")
        .contains("'gpupool run --help' shows the usage")
        .doesNotContain("--fraction");
  }

  @Test
  void subcommand_thatIsMissing_isAskedForWithTheUsage() {
    assertThat(execute("lease")).isEqualTo(2);
    assertThat(errors.toString()).contains("Missing required subcommand", "release");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "1001", "4.5", "soon"})
  void server_inFlightBoundThatCannotBe_isRefusedByName(String millis) {
    String[] line = {"server", "--gpus", "soft:1", "--listen", "127.0.0.1"};
    assertThat(wrongUsage(line, "--in-flight-bound=" + millis))
        .contains("--in-flight-bound")
        .contains(millis);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "100.5", "101", "NaN"})
  void partition_computeThatCannotBe_isRefusedByName(String percent) {
    for (String change : List.of("create", "resize")) {
      String[] line = {"partition", change, "0/a", "-m", "1Gi", "--pool", "127.0.0.1:1"};
      assertThat(wrongUsage(line, "--compute=" + percent))
          .contains("--compute " + Double.parseDouble(percent), "give 1 to 100");
    }
  }

  /** What a command line that is wrong is told. */
  private String wrongUsage(String[] line, String option) {
    PrintStream before = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      String[] whole = Arrays.copyOf(line, line.length + 1);
      whole[line.length] = option;
      assertThat(execute(whole)).isEqualTo(2);
    } finally {
      System.setErr(before);
    }
    return errors + printed.toString(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"run", "container options"})
  void class_thatThereIsNot_isRefusedWithThoseThereAre(String command) {
    List<String> line = new ArrayList<>(List.of(command.split(" ")));
    line.addAll(List.of("--class", "gold", "true"));
    assertThat(execute(line.toArray(new String[0]))).isEqualTo(2);
    assertThat(errors.toString()).contains("'--class'", "[batch, latency]", "'gold'");
  }

  @Test
  void unknownCommand_isWrongUsage() {
    assertThat(execute("lend")).isEqualTo(2);
  }

  private int execute(String... arguments) {
    return GpupoolCommand.commandLine()
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(errors, true))
        .execute(arguments);
  }
}
