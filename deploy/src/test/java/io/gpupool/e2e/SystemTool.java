// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A command of the system's administrator, which need not be on the path. */
record SystemTool(String path) {
  private static final List<String> FOLDERS = List.of("/usr/sbin", "/sbin", "/usr/bin", "/bin");

  /** Finds one; empty if this machine does not have it. */
  static Optional<SystemTool> find(String name) {
    return FOLDERS.stream()
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .findFirst()
        .map(found -> new SystemTool(found.toString()));
  }

  /** Runs it, without what it prints; returns whether it succeeds. */
  boolean isDone(String... arguments) {
    List<String> command = new ArrayList<>(List.of(path));
    command.addAll(List.of(arguments));
    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
