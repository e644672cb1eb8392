// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.container.ContainerWiring;
import io.gpupool.k8s.deviceplugin.PluginSocket;
import io.gpupool.k8s.pluginregistration.v1.InfoRequest;
import io.gpupool.k8s.pluginregistration.v1.PluginInfo;
import io.gpupool.k8s.pluginregistration.v1.RegistrationGrpc;
import io.gpupool.k8s.pluginregistration.v1.RegistrationStatus;
import io.gpupool.k8s.pluginregistration.v1.RegistrationStatusResponse;
import io.gpupool.runtime.BackgroundThread;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's part on a node: the sockets on which the kubelet finds it and has claims prepared.
 * Started and closed by any thread.
 */
public final class DraPlugin implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DraPlugin.class);
  // The kubelet waits for 45 s in all.
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration LOOK = Duration.ofSeconds(1);

  private final Path folder;
  private final Path registry;
  private final DraService service;
  private final EventLoopGroup loops;
  private final BackgroundThread thread;
  private volatile boolean registered;

  // Owned by the thread.
  private @Nullable PluginSocket served;
  private @Nullable PluginSocket found;
  private final StateChangeLogger problems = new StateChangeLogger(LOG);

  private DraPlugin(Path kubeletFolder, NodeClaims claims, EventLoopGroup loops) {
    folder = endpointFolder(kubeletFolder);
    registry = kubeletFolder.resolve("plugins_registry");
    service = new DraService(claims);
    this.loops = loops;
    thread = new BackgroundThread(Thread.ofPlatform().name("gpupool-dra").daemon(), this::run);
  }

  /**
   * Starts the plugin, whether there is a kubelet yet or not.
   *
   * @param pool a channel to its control plane, with credentials of this node; not closed with this
   * @param wiring the mounts and environment of containers
   * @param cdiFolder the folder in which the container runtime finds devices
   * @param kubeletFolder the kubelet's own, /var/lib/kubelet, seen here at the same path
   */
  public static DraPlugin start(
      ManagedChannel pool,
      ContainerWiring wiring,
      Path cdiFolder,
      Path kubeletFolder,
      EventLoopGroup loops) {
    return start(new NodeClaims(pool, wiring, cdiFolder, PATIENCE), kubeletFolder, loops);
  }

  static DraPlugin start(NodeClaims claims, Path kubeletFolder, EventLoopGroup loops) {
    DraPlugin plugin = new DraPlugin(kubeletFolder, claims, loops);
    plugin.thread.start();
    return plugin;
  }

  private Path endpoint() {
    return folder.resolve("dra.sock");
  }

  private static Path endpointFolder(Path kubeletFolder) {
    return kubeletFolder.resolve("plugins").resolve(DraNames.DRIVER);
  }

  /** Removes the driver's folder and the files of all claims, when nobody will ask for that. */
  public static void removeTraces(Path cdiFolder, Path kubeletFolder) throws IOException {
    NodeClaims.unprepareAll(cdiFolder);
    Files.deleteIfExists(endpointFolder(kubeletFolder));
  }

  /** Returns whether the kubelet knows it. */
  public boolean isRegistered() {
    return registered;
  }

  /** Keeps both sockets in place while it runs. The kubelet looks into the folder by itself. */
  private void run() {
    try {
      while (true) {
        look();
        Thread.sleep(LOOK);
      }
    } catch (InterruptedException e) {
      // Closed.
    } finally {
      if (found != null) {
        found.close();
      }
      if (served != null) {
        served.close();
      }
    }
  }

  private void look() {
    try {
      if (served == null || !served.isInPlace()) {
        Files.createDirectories(folder);
        served = serve(served, endpoint(), service, service.older());
      }
      // Only once there is something to find, and only if a kubelet looks there.
      if (Files.isDirectory(registry) && (found == null || !found.isInPlace())) {
        registered = false;
        found = serve(found, registry.resolve(DraNames.DRIVER + "-reg.sock"), new Registration());
      }
      problems.anew();
    } catch (IOException | RuntimeException e) {
      problems.warn("claims cannot be prepared here and are retried: " + e);
    }
  }

  private PluginSocket serve(@Nullable PluginSocket before, Path path, BindableService... services)
      throws IOException {
    if (before != null) {
      before.close();
    }
    PluginSocket socket = PluginSocket.serve(path, loops, services);
    LOG.info("serving at {}", path);
    return socket;
  }

  @Override
  public void close() {
    thread.close();
  }

  /** The service that tells the kubelet where the driver is. */
  private final class Registration extends RegistrationGrpc.RegistrationImplBase {
    @Override
    public void getInfo(InfoRequest request, StreamObserver<PluginInfo> kubelet) {
      kubelet.onNext(
          PluginInfo.newBuilder()
              .setType("DRAPlugin")
              .setName(DraNames.DRIVER)
              .setEndpoint(endpoint().toString())
              .addSupportedVersions("v1.DRAPlugin")
              .addSupportedVersions("v1beta1.DRAPlugin")
              .build());
      kubelet.onCompleted();
    }

    @Override
    public void notifyRegistrationStatus(
        RegistrationStatus status, StreamObserver<RegistrationStatusResponse> kubelet) {
      registered = status.getPluginRegistered();
      if (registered) {
        LOG.info("the kubelet knows driver {}", DraNames.DRIVER);
      } else {
        LOG.warn("the kubelet does not take driver {}: {}", DraNames.DRIVER, status.getError());
      }
      kubelet.onNext(RegistrationStatusResponse.getDefaultInstance());
      kubelet.onCompleted();
    }
  }
}
