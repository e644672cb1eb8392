// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.utility.DockerImageName;

/**
 * An image of a server that tests need, on the container engine at hand. Containers are on the
 * network of this machine, as processes would be.
 */
record ServerImage(String name) {
  static final String ENGINE = "GPUPOOL_TEST_DOCKER";

  /** The image that a variable names; empty where it names none, or there is no engine. */
  static Optional<ServerImage> of(String variable) {
    return Optional.ofNullable(System.getenv(variable))
        .filter(name -> System.getenv(ENGINE) != null)
        .map(ServerImage::new);
  }

  /**
   * Runs a program of the image as the user who runs the tests.
   *
   * @param folder that it shares with them, under the same path
   */
  GenericContainer<?> start(Path folder, String program, List<String> options) {
    GenericContainer<?> container =
        new GenericContainer<>(DockerImageName.parse(name))
            .withImagePullPolicy(image -> false)
            .withNetworkMode("host")
            .withFileSystemBind(folder.toString(), folder.toString(), BindMode.READ_WRITE)
            .withCreateContainerCmdModifier(
                create -> create.withEntrypoint(program).withUser(user()))
            .withCommand(options.toArray(String[]::new));
    container.start();
    return container;
  }

  private static String user() {
    try {
      return Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
