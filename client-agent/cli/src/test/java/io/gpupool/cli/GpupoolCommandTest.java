// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
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

  @Test
  void run_withoutACommand_isWrongUsage() {
    assertThat(execute("run", "-p", "0.5")).isEqualTo(2);
    assertThat(errors.toString()).contains("COMMAND");
  }

  @Test
  void unknownCommand_isWrongUsage() {
    assertThat(execute("lend")).isEqualTo(2);
  }

  @Test
  void top_leases_areDrawnWithHolderAndShare() {
    GpuInfo gpu =
        GpuInfo.newBuilder()
            .setServer("one")
            .setName("GPU")
            .setMemoryBytes(8L << 30)
            .setFreeMemoryBytes(6L << 30)
            .setFreeComputePercent(75)
            .build();
    LeaseInfo lease =
        LeaseInfo.newBuilder()
            .setId("L1")
            .setState("held")
            .setHolder(
                Holder.newBuilder().setUser("user").setHost("pc").setPid(7).setProgram("train"))
            .addGrants(
                GrantUse.newBuilder()
                    .setGrant(
                        Grant.newBuilder()
                            .setServer("one")
                            .setMemoryBytes(2L << 30)
                            .setComputePercent(25))
                    .setUsedMemoryBytes(1536L << 20))
            .build();

    QueueInfo waiting =
        QueueInfo.newBuilder().setId("Q9").setPosition(1).setWanted("1 GPU at 0.5").build();

    String text =
        TopCommand.draw(
            new PoolSnapshot(List.of(), List.of(gpu), List.of(lease), List.of(waiting), List.of()),
            true);

    assertThat(text)
        .contains("[#####...............] 25%")
        .contains("L1")
        .contains("2 GiB")
        .contains("1.5 GiB")
        .contains("user@pc 7 train")
        .containsPattern("1 +Q9 .*1 GPU at 0.5");
  }

  private int execute(String... arguments) {
    return GpupoolCommand.commandLine()
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(errors, true))
        .execute(arguments);
  }
}
