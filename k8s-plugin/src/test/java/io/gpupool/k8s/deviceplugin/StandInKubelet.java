// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.k8s.deviceplugin.v1beta1.Device;
import io.gpupool.k8s.deviceplugin.v1beta1.DevicePluginGrpc;
import io.gpupool.k8s.deviceplugin.v1beta1.Empty;
import io.gpupool.k8s.deviceplugin.v1beta1.ListAndWatchResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.RegisterRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.RegistrationGrpc;
import io.gpupool.k8s.kubelet.KubeletSocket;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The kubelet's side of the protocol, on real sockets: when it starts it empties the folder and
 * makes its socket, it asks whoever registers for the devices, and when it ends its socket stays
 * behind.
 */
public final class StandInKubelet extends RegistrationGrpc.RegistrationImplBase
    implements AutoCloseable {
  private final Path folder;
  private final EventLoopGroup loops;
  private final List<RegisterRequest> registrations = new ArrayList<>();
  private final List<ManagedChannel> plugins = new ArrayList<>();
  private Optional<Server> server = Optional.empty();
  private Optional<Status> refusal = Optional.empty();
  private boolean watches = true;
  private List<Device> devices = List.of();
  private int starts;
  private int lists;
  private int lostStreams;

  public StandInKubelet(Path folder, EventLoopGroup loops) {
    this.folder = folder;
    this.loops = loops;
  }

  public void start() throws IOException {
    Files.createDirectories(folder);
    try (DirectoryStream<Path> left = Files.newDirectoryStream(folder)) {
      for (Path file : left) {
        Files.deleteIfExists(file);
      }
    }
    synchronized (this) {
      devices = List.of();
      starts++;
    }
    Path made = folder.resolve(".made-" + starts);
    Server started =
        NettyServerBuilder.forAddress(new DomainSocketAddress(made.toString()))
            .channelType(EpollServerDomainSocketChannel.class)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .directExecutor()
            .addService(this)
            .build()
            .start();
    // Under this name it is not removed when the server ends, as the real one's is not.
    Files.move(made, folder.resolve("kubelet.sock"), StandardCopyOption.ATOMIC_MOVE);
    synchronized (this) {
      server = Optional.of(started);
    }
  }

  synchronized void stop() {
    server.ifPresent(Server::shutdownNow);
    server = Optional.empty();
    plugins.forEach(ManagedChannel::shutdownNow);
    plugins.clear();
  }

  public void restart() throws IOException {
    stop();
    start();
  }

  /** Refuses from now on; empty: takes whoever comes. */
  synchronized void refuse(Optional<Status> status) {
    refusal = status;
  }

  /** Whether it asks those for devices that register from now on. */
  synchronized void watch(boolean watch) {
    watches = watch;
  }

  public synchronized List<RegisterRequest> registrations() {
    return List.copyOf(registrations);
  }

  /** As they were told last. */
  public synchronized List<Device> devices() {
    return devices;
  }

  /** How often it was told. */
  synchronized int lists() {
    return lists;
  }

  synchronized int lostStreams() {
    return lostStreams;
  }

  /** The plugin that has registered last. */
  public synchronized DevicePluginGrpc.DevicePluginBlockingStub plugin() {
    return DevicePluginGrpc.newBlockingStub(plugins.getLast());
  }

  @Override
  public synchronized void register(RegisterRequest request, StreamObserver<Empty> caller) {
    registrations.add(request);
    if (refusal.isPresent()) {
      caller.onError(refusal.get().asRuntimeException());
      return;
    }
    caller.onNext(Empty.getDefaultInstance());
    caller.onCompleted();
    ManagedChannel channel =
        new KubeletSocket(folder.resolve(request.getEndpoint())).channel(loops);
    plugins.add(channel);
    if (watches) {
      // Not a part of the call that is being answered, with which it would end.
      Context.ROOT.run(() ->
          DevicePluginGrpc.newStub(channel)
              .listAndWatch(Empty.getDefaultInstance(), new Watching()));
    }
  }

  @Override
  public void close() {
    stop();
  }

  private final class Watching implements StreamObserver<ListAndWatchResponse> {
    private final int start = starts;

    @Override
    public void onNext(ListAndWatchResponse response) {
      synchronized (StandInKubelet.this) {
        if (start != starts) {
          return;
        }
        devices = response.getDevicesList();
        lists++;
      }
    }

    @Override
    public void onError(Throwable failure) {
      synchronized (StandInKubelet.this) {
        lostStreams++;
      }
    }

    @Override
    public void onCompleted() {
      onError(new IllegalStateException("the list of devices has an end"));
    }
  }
}
