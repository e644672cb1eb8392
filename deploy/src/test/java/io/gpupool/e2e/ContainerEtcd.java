// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.server.state.etcd.EtcdRunner;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.testcontainers.containers.GenericContainer;

/** An etcd of an image, each member a container on the network of this machine. */
public final class ContainerEtcd implements EtcdRunner {
  private static final String IMAGE = "GPUPOOL_TEST_ETCD_IMAGE";

  @Override
  public Optional<String> obstacle() {
    return ServerImage.of(IMAGE).isPresent()
        ? Optional.empty()
        : Optional.of(ServerImage.ENGINE + " and " + IMAGE + " are not both set");
  }

  @Override
  public Member start(Path folder, List<String> options) {
    return new Running(ServerImage.of(IMAGE).orElseThrow().start(folder, "etcd", options));
  }

  private record Running(GenericContainer<?> container) implements Member {
    @Override
    public boolean isAlive() {
      return container.isRunning();
    }

    @Override
    public void kill() {
      container.stop();
    }

    @Override
    public void freeze(boolean frozen) {
      String id = container.getContainerId();
      if (frozen) {
        container.getDockerClient().pauseContainerCmd(id).exec();
      } else {
        container.getDockerClient().unpauseContainerCmd(id).exec();
      }
    }
  }
}
