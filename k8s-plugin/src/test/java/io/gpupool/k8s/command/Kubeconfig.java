// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file that names an API server for tests. */
public final class Kubeconfig {
  private Kubeconfig() {}

  public static Path write(Path folder, int port) throws IOException {
    return Files.writeString(
        folder.resolve("kubeconfig"),
        """
        apiVersion: v1
        kind: Config
        clusters:
          - {name: test, cluster: {server: "http://localhost:%d"}}
        users:
          - {name: test, user: {}}
        contexts:
          - {name: test, context: {cluster: test, user: test}}
        current-context: test
        """
            .formatted(port));
  }
}
