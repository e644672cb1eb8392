// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.takeover.RunDirectory;
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
 * @param run the folder of the sockets on which they listen for the server's next process; null:
 *     they end with this one
 */
public record WorkerLaunch(
    WorkerCommand command,
    String control,
    List<String> arguments,
    Map<String, String> environment,
    DriverStart driver,
    Sandbox sandbox,
    @Nullable RunDirectory run) {
  private static final String TOKEN = "GPUPOOL_WORKER_TOKEN";
  private static final String BIND = "GPUPOOL_BIND";

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

  /** Makes up the name of a worker's socket for the server's next process; null: it has none. */
  @Nullable String newSocket() {
    return run == null ? null : run.newSocket();
  }

  /** Deletes what a worker that is dead has left. */
  void cleanUp(Worker worker) {
    sandbox.giveBack(worker.user);
    if (run != null && worker.socket != null) {
      run.deleteSocket(worker.socket);
    }
  }

  /** A worker's process, to be started. For any thread. */
  ProcessBuilder process(Worker worker, boolean late) {
    return process(worker.token, worker.user, worker.socket, late);
  }

  /**
   * The same, with a token and a user that need not be a worker's.
   *
   * @param late its driver waits for the assignment
   */
  ProcessBuilder process(String token, @Nullable Long user, @Nullable String socket, boolean late) {
    List<String> all = new ArrayList<>(List.of("--control", control));
    String listen = run == null || socket == null ? null : run.socket(socket);
    if (listen != null && sandbox.isOff()) {
      all.addAll(List.of("--listen", listen));
    }
    all.addAll(arguments);
    if (late) {
      all.add("--late");
    }
    ProcessBuilder builder = command.process(all);
    builder.environment().putAll(environment);
    builder.environment().putAll(sandbox.environment(control, user, listen));
    builder.environment().put(TOKEN, token);
    if (listen != null) {
      // It lets go of this process once it has a session that outlives it.
      builder.environment().put(BIND, "self");
    }
    return builder;
  }
}
