// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.server.FreePort;
import io.gpupool.server.Pool;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** A pool-server that can be started again, and controllers of its leases. */
final class TestPool implements AutoCloseable {
  static final byte[] KEY = new byte[32];
  static final ControllerOptions.Times QUICK =
      new ControllerOptions.Times(
          new ControllerOptions.Contact(Duration.ofSeconds(60), Duration.ofMillis(200)),
          Duration.ofMillis(500),
          Duration.ofSeconds(60),
          Duration.ofMillis(300),
          Duration.ofSeconds(1),
          new ControllerOptions.Pauses(Duration.ofMillis(20), Duration.ofMillis(200)),
          new ControllerOptions.Pauses(Duration.ofMillis(200), Duration.ofMillis(500)),
          new ControllerOptions.Reports(
              Duration.ofMillis(200),
              Duration.ofMillis(500),
              Duration.ofMillis(50),
              Duration.ofMillis(200)));
  static final ControllerOptions OPTIONS =
      new ControllerOptions("test", Duration.ofMinutes(10), QUICK);

  private final String gpus;
  private final Path state;
  private final int port;
  private Pool pool;

  TestPool(String gpus) throws IOException {
    this.gpus = gpus;
    state = Files.createTempDirectory("gpupool-test");
    port = FreePort.find();
    pool = Pool.lasting(gpus, port, state);
  }

  LeaseController controller(KubernetesClient client) {
    return controller(client, OPTIONS);
  }

  LeaseController controller(KubernetesClient client, ControllerOptions options) {
    return LeaseController.start(client, this::connect, KEY, options);
  }

  ManagedChannel connect() {
    return connect((LeaseRequest request) -> {});
  }

  /** A connection that tells which leases are asked for. */
  ManagedChannel connect(Consumer<LeaseRequest> asked) {
    return connect(
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return new ForwardingClientCall.SimpleForwardingClientCall<>(
                next.newCall(method, options)) {
              @Override
              public void sendMessage(Q message) {
                if (message instanceof LeaseRequest request) {
                  asked.accept(request);
                }
                super.sendMessage(message);
              }
            };
          }
        });
  }

  ManagedChannel connect(ClientInterceptor between) {
    return NettyChannelBuilder.forAddress("127.0.0.1", port)
        .usePlaintext()
        .keepAliveTime(5, TimeUnit.SECONDS)
        .intercept(between)
        .build();
  }

  List<LeaseInfo> leases() {
    return pool
        .stub
        .withDeadlineAfter(10, TimeUnit.SECONDS)
        .listLeases(ListRequest.getDefaultInstance())
        .getLeasesList()
        .stream()
        .filter(lease -> lease.getState() != LeaseInfo.State.STATE_ENDING)
        .toList();
  }

  int waiting() {
    return queue().size();
  }

  List<QueueInfo> queue() {
    return pool.stub
        .withDeadlineAfter(10, TimeUnit.SECONDS)
        .listQueue(ListRequest.getDefaultInstance())
        .getRequestsList();
  }

  <T> T admin(Function<PoolAdminGrpc.PoolAdminBlockingStub, T> call) {
    ManagedChannel channel = connect();
    try {
      return call.apply(
          PoolAdminGrpc.newBlockingStub(channel).withDeadlineAfter(10, TimeUnit.SECONDS));
    } finally {
      channel.shutdownNow();
    }
  }

  Pool pool() {
    return pool;
  }

  void stop() {
    pool.close();
  }

  void startAgain() throws IOException {
    pool = Pool.lasting(gpus, port, state);
  }

  /** Connections of a controller that can be cut for good. */
  final class Lines {
    private final List<ManagedChannel> channels = new CopyOnWriteArrayList<>();
    private volatile boolean cut;

    ManagedChannel connect() {
      ManagedChannel channel = TestPool.this.connect();
      channels.add(channel);
      if (cut) {
        channel.shutdownNow();
      }
      return channel;
    }

    void cut() {
      cut = true;
      channels.forEach(ManagedChannel::shutdownNow);
    }
  }

  @Override
  public void close() throws IOException {
    pool.close();
    try (Stream<Path> files = Files.walk(state)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
