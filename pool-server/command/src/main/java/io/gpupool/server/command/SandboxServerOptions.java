// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Installation;
import io.gpupool.server.sandbox.SandboxMode;
import io.gpupool.server.sandbox.UserRange;
import io.gpupool.server.worker.WorkerCommand;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** The options of a server that are about the sandbox around its workers. Of the main thread. */
final class SandboxServerOptions {
  @Option(
      names = "--sandbox",
      paramLabel = "required|best-effort|off",
      defaultValue = "best-effort",
      description = {
        "confines worker processes. required: do not start where this machine lacks one of the layers;",
        "best-effort: say which are missing, and go on; off: no sandbox (default: ${DEFAULT-VALUE})"
      })
  private String mode = "";

  @Option(
      names = "--worker-uids",
      paramLabel = "FIRST-LAST",
      description = {
        "user ids for workers where the server is root, one each, that nothing else on this machine",
        "has (default: 1879048192-1879113727)"
      })
  private String users = "";

  @Option(
      names = "--worker-env",
      paramLabel = "NAME",
      description = {
        "workers get this variable of the server's environment, which is otherwise kept from them;",
        "may be repeated"
      })
  private List<String> variables = new ArrayList<>();

  /** How workers of an installation are started with these options. */
  WorkerCommand worker(Installation installation) {
    return WorkerProgram.of(
        installation,
        SandboxMode.of(mode),
        users.isEmpty() ? UserRange.DEFAULT : UserRange.parse(users),
        variables);
  }
}
