// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Installation;
import io.gpupool.server.sandbox.SandboxMode;
import io.gpupool.server.sandbox.SandboxOptions;
import io.gpupool.server.sandbox.UserRange;
import io.gpupool.server.worker.WorkerCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The program by which a server of an installation starts its workers. */
final class WorkerProgram {
  private WorkerProgram() {}

  /**
   * The command line of a worker.
   *
   * @param mode how much it insists on the sandbox around them
   * @param users user ids for them
   * @param variables environment variables that they get besides the usual ones
   */
  static WorkerCommand of(
      Installation installation, SandboxMode mode, UserRange users, List<String> variables) {
    // A worker that writes down what it loads, for the build, must be able to write.
    SandboxMode actual = System.getenv().containsKey("GPUPOOL_AOT_RECORD") ? SandboxMode.OFF : mode;
    Path libraries = installation.home().resolve("lib");
    return of(installation)
        .within(
            new SandboxOptions(
                actual, libraries.resolve("gpupool-sandbox"), libraries, users, variables));
  }

  private static WorkerCommand of(Installation installation) {
    WorkerCommand command = new WorkerCommand(List.of(installation.command().toString(), "worker"));
    return Files.isExecutable(installation.launcher())
        ? command.boundBy(installation.launcher())
        : command;
  }
}
