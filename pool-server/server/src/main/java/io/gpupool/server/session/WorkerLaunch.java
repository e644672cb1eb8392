// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * How this server's workers are started.
 *
 * @param command the command
 * @param control the socket on which they report
 * @param arguments what they serve
 * @param environment what a worker finds in its environment besides
 * @param late whether a worker's driver starts when the worker is assigned, because the assignment
 *     says what it is to see of the GPUs: slices of cards (MIG), or part of them (MPS)
 * @param sandbox the walls around them
 */
public record WorkerLaunch(
    WorkerCommand command,
    String control,
    List<String> arguments,
    Map<String, String> environment,
    boolean late,
    Sandbox sandbox) {
  private static final String TOKEN = "GPUPOOL_WORKER_TOKEN";

  public WorkerLaunch {
    arguments = List.copyOf(arguments);
    environment = Map.copyOf(environment);
  }

  /** A worker's process, to be started. For any thread. */
  ProcessBuilder process(String token, OptionalLong user) {
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
