// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.nio.file.Path;
import java.util.List;

/**
 * The options for the sandbox around workers.
 *
 * @param launcher the program that puts the sandbox up
 * @param software folder with everything a worker runs: Java runtime, jars, start-up caches
 * @param users user ids for the workers of a server that may change the user
 * @param variables names of environment variables that workers get besides the usual ones
 */
public record SandboxOptions(
    SandboxMode mode, Path launcher, Path software, UserRange users, List<String> variables) {
  /** No sandbox, as for workers of a server's own tests. */
  public static final SandboxOptions NONE =
      new SandboxOptions(SandboxMode.OFF, Path.of(""), Path.of(""), UserRange.DEFAULT, List.of());

  public SandboxOptions {
    variables = List.copyOf(variables);
  }
}
