// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import io.gpupool.k8s.command.controller.ControllerCommand;
import io.gpupool.k8s.command.node.NodeCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ScopeType;

/** The program {@code gpupool-k8s} and its exit statuses. */
@Command(
    name = "gpupool-k8s",
    description = "gpupool's processes in a Kubernetes cluster; the Helm chart starts them.",
    mixinStandardHelpOptions = true,
    scope = ScopeType.INHERIT,
    versionProvider = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {"0:told to end", "1:it cannot go on", "2:wrong usage"},
    subcommands = {ControllerCommand.class, NodeCommand.class, VersionCommand.class})
public final class Main {
  private Main() {}

  /** Runs the command and ends the process with its status. */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    CommandLine line = new CommandLine(new Main());
    line.setExecutionExceptionHandler(tellInOneLine());
    return line;
  }

  private static IExecutionExceptionHandler tellInOneLine() {
    return (failure, line, parsed) -> {
      boolean forPeople =
          failure instanceof IllegalArgumentException
              || failure instanceof IOException
              || failure instanceof UncheckedIOException;
      System.err.println("gpupool-k8s: " + (forPeople ? failure.getMessage() : failure));
      return failure instanceof IllegalArgumentException
          ? CommandLine.ExitCode.USAGE
          : CommandLine.ExitCode.SOFTWARE;
    };
  }
}
