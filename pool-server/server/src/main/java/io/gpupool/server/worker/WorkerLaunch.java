// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The launch of this server's workers: their command, arguments and sandbox.
 *
 * @param command the command
 * @param control the socket on which they report
 * @param arguments the GPUs they serve
 * @param environment additional environment variables
 * @param driver when a worker's driver starts
 * @param sandbox the sandbox around them
 */
public record WorkerLaunch(
    WorkerCommand command,
    String control,
    List<String> arguments,
    Map<String, String> environment,
    DriverStart driver,
    Sandbox sandbox) {
  private static final String TOKEN = "GPUPOOL_WORKER_TOKEN";

  public WorkerLaunch {
    arguments = List.copyOf(arguments);
    environment = Map.copyOf(environment);
  }

  /** Whether the assignments say what workers are to see of the GPUs. */
  boolean seesAssigned() {
    return driver == DriverStart.ASSIGNED;
  }

  /** Whether the driver of a spare has started in an environment that suits not every program. */
  boolean startsEarly() {
    return driver == DriverStart.EARLY;
  }

  /**
   * A worker's process, to be started. For any thread.
   *
   * @param late its driver waits for the assignment
   */
  ProcessBuilder process(String token, @Nullable Long user, boolean late) {
    List<String> all = new ArrayList<>(List.of("--control", control));
    all.addAll(arguments);
    if (late) {
      all.add("--late");
    }
    ProcessBuilder builder = command.process(all);
    builder.environment().putAll(environment);
    builder.environment().putAll(sandbox.environment(control, user));
    builder.environment().put(TOKEN, token);
    return builder;
  }
}
