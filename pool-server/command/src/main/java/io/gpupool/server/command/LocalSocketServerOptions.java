// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Environment;
import io.gpupool.server.options.LocalSocketOptions;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server's socket for call streams of its own machine. */
final class LocalSocketServerOptions {
  @Option(
      names = "--local-socket",
      paramLabel = "auto|FOLDER|none",
      description = {
        "call streams of this machine by a unix socket instead of TCP: auto is an abstract one,"
            + " for",
        "agents in the same network namespace; in FOLDER it is a file, for agents that share it",
        "(else GPUPOOL_LOCAL_SOCKET, else auto)"
      })
  private @Nullable String place;

  LocalSocketOptions options() {
    return of(place);
  }

  /** Returns the options of a server that is started without any. */
  static LocalSocketOptions ofEnvironment() {
    return of(null);
  }

  private static LocalSocketOptions of(@Nullable String given) {
    return Optional.ofNullable(given)
        .or(() -> Environment.variable("GPUPOOL_LOCAL_SOCKET"))
        .map(LocalSocketOptions::parse)
        .orElse(LocalSocketOptions.AUTO);
  }
}
