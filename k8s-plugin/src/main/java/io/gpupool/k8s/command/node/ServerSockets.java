// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.gpupool.wire.LocalSocketName;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The folder in which servers of a node have their sockets for its programs.
 *
 * @param folder beside the agent's socket
 */
record ServerSockets(Path folder) {
  private static final String NAME = "streams";

  /** Returns the one beside an agent's socket. */
  static ServerSockets beside(Path agentSocket) {
    return new ServerSockets(agentSocket.resolveSibling(NAME));
  }

  /** Removes it with the sockets of servers that are gone or about to go, and with nothing else. */
  void remove() throws IOException {
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          if (LocalSocketName.of(file.getFileName().toString()).isPresent()) {
            Files.deleteIfExists(file);
          }
        }
      }
      Files.delete(folder);
    }
  }
}
