// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolAddress;
import io.gpupool.agent.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
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
    },
    subcommands = {
      RunCommand.class,
      ServerCommand.class,
      AgentCommand.class,
      ContainerCommand.class,
      TopCommand.class,
      ListCommand.class,
      LeaseCommand.class,
      PartitionCommand.class,
      TenantCommand.class,
      AuditCommand.class,
      HealthCommand.class,
      SmiCommand.class,
      BenchCommand.class,
      CompletionCommand.class,
      VersionCommand.class,
    })
public final class GpupoolCommand {
  private GpupoolCommand() {}

  /** Runs the command and ends the process with its status. */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    CommandLine line = new CommandLine(new GpupoolCommand());
    line.setExecutionExceptionHandler(tellInOneLine());
    line.getSubcommands().get("run").setStopAtPositional(true);
    return line;
  }

  private static IExecutionExceptionHandler tellInOneLine() {
    return (failure, line, parsed) -> {
      boolean told =
          failure instanceof Refusal
              || failure instanceof IllegalArgumentException
              || failure instanceof IOException
              || failure instanceof UncheckedIOException;
      String message = told ? failure.getMessage() : Refusal.of(failure, poolOf(line)).getMessage();
      System.err.println("gpupool: " + message);
      return switch (failure) {
        case Refusal refusal when refusal.why() == Refusal.Cause.UNREACHABLE -> RunCommand.NO_POOL;
        case Refusal refusal -> RunCommand.NO_LEASE;
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
