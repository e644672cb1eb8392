// SPDX-License-Identifier: Apache-2.0
package io.gpupool.command;

import io.gpupool.bench.BenchCommand;
import io.gpupool.cli.ExitStatus;
import io.gpupool.cli.LeaseAdvice;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.agent.AgentCommand;
import io.gpupool.cli.agent.ContainerCommand;
import io.gpupool.cli.lease.LeaseCommand;
import io.gpupool.cli.partition.PartitionCommand;
import io.gpupool.cli.pool.HealthCommand;
import io.gpupool.cli.pool.ListCommand;
import io.gpupool.cli.pool.TopCommand;
import io.gpupool.cli.run.RunCommand;
import io.gpupool.cli.smi.SmiCommand;
import io.gpupool.cli.tenant.AuditCommand;
import io.gpupool.cli.tenant.TenantCommand;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.server.command.EmbeddedPool;
import io.gpupool.server.command.EmbeddedPool.Purpose;
import io.gpupool.server.command.ServerCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IFactory;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

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
      "2:wrong usage, or a request that the pool can never grant",
      "69:the pool cannot be reached (of run)",
      "75:no lease now; the same request may succeed later (of run)",
      "77:the pool denies access (of run)"
    })
public final class GpupoolCommand {
  /** Subcommands by name, in the order of the help. */
  private static final SequencedMap<String, Class<?>> SUBCOMMANDS = new LinkedHashMap<>();

  static {
    SUBCOMMANDS.put("run", RunCommand.class);
    SUBCOMMANDS.put("server", ServerCommand.class);
    SUBCOMMANDS.put("agent", AgentCommand.class);
    SUBCOMMANDS.put("container", ContainerCommand.class);
    SUBCOMMANDS.put("top", TopCommand.class);
    SUBCOMMANDS.put("list", ListCommand.class);
    SUBCOMMANDS.put("lease", LeaseCommand.class);
    SUBCOMMANDS.put("partition", PartitionCommand.class);
    SUBCOMMANDS.put("tenant", TenantCommand.class);
    SUBCOMMANDS.put("audit", AuditCommand.class);
    SUBCOMMANDS.put("health", HealthCommand.class);
    SUBCOMMANDS.put("smi", SmiCommand.class);
    SUBCOMMANDS.put("bench", BenchCommand.class);
    SUBCOMMANDS.put("completion", CompletionCommand.class);
    SUBCOMMANDS.put("version", VersionCommand.class);
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
  public static CommandLine commandLine() {
    return commandLine(SUBCOMMANDS.keySet());
  }

  /** Returns the command with one subcommand: reading the options of all takes half a second. */
  static CommandLine commandLine(String subcommand) {
    return commandLine(Set.of(subcommand));
  }

  private static CommandLine commandLine(Set<String> subcommands) {
    CommandLine line = new CommandLine(new GpupoolCommand(), new Commands());
    subcommands.forEach(name -> line.addSubcommand(name, SUBCOMMANDS.get(name)));
    if (line.getSubcommands().containsKey("run")) {
      line.getSubcommands().get("run").setStopAtPositional(true);
    }
    line.setParameterExceptionHandler(GpupoolCommand::explainUsage);
    line.setExecutionExceptionHandler(tellInOneLine());
    return line;
  }

  /** Prints the error without the list of options, which would scroll it away. */
  private static int explainUsage(ParameterException failure, String[] arguments) {
    CommandLine line = failure.getCommandLine();
    PrintWriter errors = line.getErr();
    errors.println("gpupool: " + failure.getMessage());
    if (UnmatchedArgumentException.printSuggestions(failure, errors)) {
      return CommandLine.ExitCode.USAGE;
    }
    if (!line.getSubcommands().isEmpty()) {
      line.usage(errors);
    } else {
      errors.println("'" + line.getCommandSpec().qualifiedName() + " --help' shows the usage");
    }
    return CommandLine.ExitCode.USAGE;
  }

  private static IExecutionExceptionHandler tellInOneLine() {
    return (failure, line, parsed) -> {
      boolean told =
          failure instanceof PoolRequestException
              || failure instanceof IllegalArgumentException
              || failure instanceof IOException
              || failure instanceof UncheckedIOException;
      String message =
          told
              ? failure.getMessage()
              : LeaseAdvice.text(PoolRequestException.of(failure, poolOf(line)));
      System.err.println("gpupool: " + message);
      return switch (failure) {
        case PoolRequestException refusal -> ExitStatus.of(refusal);
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

  /** A factory of commands, which knows what some of them need. */
  private static final class Commands implements IFactory {
    private final IFactory others = CommandLine.defaultFactory();

    @Override
    public <K> K create(Class<K> type) throws Exception {
      if (type == RunCommand.class) {
        return type.cast(new RunCommand(EmbeddedPool.starter(Purpose.program)));
      }
      if (type == CompletionCommand.class) {
        return type.cast(new CompletionCommand(GpupoolCommand::commandLine));
      }
      return others.create(type);
    }
  }
}
