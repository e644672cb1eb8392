// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import java.util.List;
import java.util.Map;

/**
 * How this server's workers are started.
 *
 * @param line the command
 * @param environment what it finds in its environment besides
 * @param late whether a worker's driver starts when the worker is assigned, because the assignment
 *     says what it is to see of the GPUs: slices of cards (MIG), or part of them (MPS)
 */
public record WorkerLaunch(List<String> line, Map<String, String> environment, boolean late) {
  public WorkerLaunch {
    line = List.copyOf(line);
    environment = Map.copyOf(environment);
  }
}
