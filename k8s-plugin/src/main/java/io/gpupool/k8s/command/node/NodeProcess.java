// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.gpupool.container.CdiSpec;
import io.gpupool.container.ContainerWiring;
import io.gpupool.k8s.command.process.HealthPort;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.deviceplugin.ContainerAllocation;
import io.gpupool.k8s.deviceplugin.DevicePlugin;
import io.gpupool.k8s.deviceplugin.PluginOptions;
import io.gpupool.k8s.deviceplugin.PoolGpus;
import io.gpupool.k8s.dra.DraPlugin;
import io.gpupool.k8s.identity.PodProcesses;
import io.gpupool.k8s.identity.PodTokens;
import io.gpupool.transport.metrics.ProcessMeters;
import io.grpc.ManagedChannel;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running node process with all its parts: the agent for the programs of the node's pods, and the
 * device plugin that gives containers access to the agent. Started and closed by any thread.
 */
final class NodeProcess implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NodeProcess.class);
  private static final Duration POOL_EVERY = Duration.ofSeconds(5);

  private final Setup setup;
  private final NodeAgent agent;
  private final ManagedChannel channel;
  private final PoolGpus gpus;
  private final DevicePlugin plugin;
  private final HealthPort health;
  private volatile boolean poolKnown;

  /**
   * The settings of a node's process; see {@link NodeCommand}.
   *
   * @param proc the proc file system that shows the node's processes
   * @param cdiFolder the folder of CDI devices; null: the node's runtime knows none
   */
  record Setup(
      Path shimSource,
      Path shimFolder,
      Path agentFolder,
      Path kubeletFolder,
      Path proc,
      int maxDevices,
      @Nullable Path cdiFolder,
      int healthPort) {
    /** Throws {@link IllegalArgumentException} for invalid settings; the message is for people. */
    Setup {
      for (Path folder : List.of(shimFolder, agentFolder, kubeletFolder)) {
        if (!folder.isAbsolute()) {
          throw new IllegalArgumentException(
              "'" + folder + "' must be a folder of the node: give its absolute path");
        }
      }
    }

    Path socket() {
      return agentFolder.resolve("agent.sock");
    }

    Optional<Path> cdiFile() {
      return Optional.ofNullable(cdiFolder).map(folder -> folder.resolve(CdiSpec.FILE));
    }

    PluginOptions plugin() {
      ContainerAllocation allocation =
          new ContainerAllocation(
              shimFolder,
              agentFolder,
              cdiFolder == null ? null : CdiSpec.KIND + "=" + CdiSpec.SHARED);
      PluginOptions usual = PluginOptions.of(allocation);
      return new PluginOptions(
          usual.resource(),
          kubeletFolder.resolve("device-plugins"),
          usual.socketName(),
          maxDevices,
          usual.patience(),
          usual.lookEvery(),
          usual.unwatched(),
          allocation);
    }
  }

  private NodeProcess(Setup setup, PoolConnections pool, EventLoopGroup loops, ProcessMeters meters)
      throws IOException, InterruptedException {
    this.setup = setup;
    PluginOptions options = setup.plugin();
    new ShimFolder(setup.shimFolder()).fillFrom(setup.shimSource());
    new ShimFolder(nccl(setup.shimFolder())).fillFrom(nccl(setup.shimSource()));
    Obstacle.removeFrom(setup.socket());
    agent =
        NodeAgent.start(
            setup.socket(),
            pool,
            new PodTokens(new PodProcesses(setup.proc()), setup.kubeletFolder()));
    if (setup.cdiFile().isPresent()) {
      Obstacle.removeFrom(setup.cdiFile().get());
      CdiSpec.shared(options.wiring().container()).write(setup.cdiFile().get());
    }
    // Only now, so that no container is given something that does not exist yet.
    channel = pool.openWhenThere();
    gpus = PoolGpus.ask(channel, POOL_EVERY, loops.next());
    plugin = DevicePlugin.start(gpus, options, loops);
    measure(meters);
    agent.measure(meters);
    health = HealthPort.open(setup.healthPort(), this::broken, this::unready, meters);
  }

  private static Path nccl(Path shim) {
    return shim.resolveSibling(ContainerWiring.NCCL);
  }

  /**
   * Starts all parts; those that need a pool or a kubelet wait for it.
   *
   * @param meters shown at its health port, beside its own
   * @throws IOException if the node's folders cannot be used, or the port is taken
   */
  static NodeProcess start(
      Setup setup, PoolConnections pool, EventLoopGroup loops, ProcessMeters meters)
      throws IOException, InterruptedException {
    return new NodeProcess(setup, pool, loops, meters);
  }

  int healthPort() {
    return health.port();
  }

  /**
   * Returns why the process must be restarted: somebody removed a file that only the start makes.
   */
  private Optional<String> broken() {
    return Files.exists(setup.socket())
        ? Optional.empty()
        : Optional.of("the agent's socket " + setup.socket() + " is gone");
  }

  private Optional<String> unready() {
    Optional<String> broken = broken();
    if (broken.isPresent()) {
      return broken;
    }
    if (!plugin.isWatched()) {
      return Optional.of("no kubelet watches the device plugin (yet)");
    }
    // Pods that a kubelet starts earlier would be refused for want of devices.
    poolKnown |= gpus.healthyGpus().isPresent();
    return poolKnown ? Optional.empty() : Optional.of("the pool has not reported its GPUs yet");
  }

  private void measure(ProcessMeters meters) {
    meters.gauge(
        "gpupool.k8s.device.plugin.registrations",
        "",
        "how many times a kubelet has taken the device plugin since its start",
        () -> OptionalDouble.of(plugin.registrations()));
    meters.gauge(
        "gpupool.k8s.device.plugin.serving",
        "",
        "1 while the device plugin's socket is there, else 0",
        () -> OptionalDouble.of(plugin.isServing() ? 1 : 0));
    meters.gauge(
        "gpupool.k8s.pool.healthy.gpus",
        "",
        "healthy GPUs of the whole pool, as this node knows; absent while it does not",
        () ->
            gpus.healthyGpus().isPresent()
                ? OptionalDouble.of(gpus.healthyGpus().getAsInt())
                : OptionalDouble.empty());
  }

  /** Removes the sockets. Files that running containers have mounted stay for the next process. */
  @Override
  public void close() {
    plugin.close();
    gpus.close();
    channel.shutdownNow();
    agent.close();
    health.close();
  }

  /** Removes everything that is left on the node; called when no other process follows. */
  void removeTraces() {
    try {
      new ShimFolder(setup.shimFolder()).remove();
      new ShimFolder(nccl(setup.shimFolder())).remove();
      ServerSockets.beside(setup.socket()).remove();
      Files.deleteIfExists(setup.socket());
      Path cdiFolder = setup.cdiFolder();
      if (cdiFolder != null) {
        Files.deleteIfExists(setup.cdiFile().orElseThrow());
        DraPlugin.removeTraces(cdiFolder, setup.kubeletFolder());
      }
      LOG.info("the release is gone: removed what it had on the node");
    } catch (IOException e) {
      LOG.error(
          "the release is gone, and not all that it had on the node can be removed: {}",
          e.getMessage());
    }
  }
}
