// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.cli.EmbeddedPool.Purpose;
import io.gpupool.client.PoolAddress;
import io.gpupool.client.PoolRequestException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ScopeType;

/** The {@code gpupool} command and its exit statuses. */
@Command(
    name = "gpupool",
    description = "Runs CUDA programs on the GPUs of a pool, and serves GPUs to one.",
    mixinStandardHelpOptions = true,
    scope = ScopeType.INHERIT,
    versionProvider = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:success",
      "1:the command failed",
      "2:wrong usage",
      "69:the pool cannot be reached (of run)",
      "75:no lease (of run)"
    })
public final class GpupoolCommand {
  /** Subcommands by name, in the order of the help. */
  private static final SequencedMap<String, Supplier<Object>> SUBCOMMANDS = new LinkedHashMap<>();

  static {
    SUBCOMMANDS.put("run", () -> new RunCommand(EmbeddedPool.starter(Purpose.program)));
    SUBCOMMANDS.put("server", ServerCommand::new);
    SUBCOMMANDS.put("agent", AgentCommand::new);
    SUBCOMMANDS.put("container", ContainerCommand::new);
    SUBCOMMANDS.put("top", TopCommand::new);
    SUBCOMMANDS.put("list", ListCommand::new);
    SUBCOMMANDS.put("lease", LeaseCommand::new);
    SUBCOMMANDS.put("partition", PartitionCommand::new);
    SUBCOMMANDS.put("tenant", TenantCommand::new);
    SUBCOMMANDS.put("audit", AuditCommand::new);
    SUBCOMMANDS.put("health", HealthCommand::new);
    SUBCOMMANDS.put("smi", SmiCommand::new);
    SUBCOMMANDS.put("bench", BenchCommand::new);
    SUBCOMMANDS.put("completion", () -> new CompletionCommand(GpupoolCommand::commandLine));
    SUBCOMMANDS.put("version", VersionCommand::new);
  }

  private GpupoolCommand() {}

  /** Runs the command and ends the process with its status. */
  public static void main(String[] arguments) {
    CommandLine line =
        arguments.length > 0 && SUBCOMMANDS.containsKey(arguments[0])
            ? commandLine(arguments[0])
            : commandLine();
    System.exit(line.execute(arguments));
  }

  /** Returns the command with all its subcommands. */
  static CommandLine commandLine() {
    return commandLine(SUBCOMMANDS.keySet());
  }

  /** Returns the command with one subcommand: reading the options of all takes half a second. */
  static CommandLine commandLine(String subcommand) {
    return commandLine(Set.of(subcommand));
  }

  private static CommandLine commandLine(Set<String> subcommands) {
    CommandLine line = new CommandLine(new GpupoolCommand());
    subcommands.forEach(name -> line.addSubcommand(name, SUBCOMMANDS.get(name).get()));
    if (line.getSubcommands().containsKey("run")) {
      line.getSubcommands().get("run").setStopAtPositional(true);
    }
    line.setExecutionExceptionHandler(tellInOneLine());
    return line;
  }

  private static IExecutionExceptionHandler tellInOneLine() {
    return (failure, line, parsed) -> {
      boolean told =
          failure instanceof PoolRequestException
              || failure instanceof IllegalArgumentException
              || failure instanceof IOException
              || failure instanceof UncheckedIOException;
      String message =
          told ? failure.getMessage() : PoolRequestException.of(failure, poolOf(line)).getMessage();
      System.err.println("gpupool: " + message);
      return switch (failure) {
        case PoolRequestException refusal
            when refusal.why() == PoolRequestException.Cause.UNREACHABLE ->
            RunCommand.NO_POOL;
        case PoolRequestException refusal -> RunCommand.NO_LEASE;
        case IllegalArgumentException wrong -> CommandLine.ExitCode.USAGE;
        default -> CommandLine.ExitCode.SOFTWARE;
      };
    };
  }

  private static PoolAddress poolOf(CommandLine line) {
    return line.getCommand() instanceof PoolCommand command
        ? command.address()
        : new PoolAddress("localhost", PoolAddress.DEFAULT_PORT);
  }
}
