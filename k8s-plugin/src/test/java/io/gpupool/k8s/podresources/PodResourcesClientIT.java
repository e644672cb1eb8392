// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.podresources;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.k8s.podresources.v1.ContainerDevices;
import io.gpupool.k8s.podresources.v1.ContainerResources;
import io.gpupool.k8s.podresources.v1.ListPodResourcesRequest;
import io.gpupool.k8s.podresources.v1.ListPodResourcesResponse;
import io.gpupool.k8s.podresources.v1.PodResources;
import io.gpupool.k8s.podresources.v1.PodResourcesListerGrpc;
import io.gpupool.transport.EventLoops;
import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PodResourcesClientIT {
  private static final String RESOURCE = "gpupool.io/gpu-percent";

  @TempDir Path folder;

  private final EventLoopGroup loops = EventLoops.create("test", 1);
  private PodResourcesClient client;

  @BeforeEach
  void connect() {
    client = new PodResourcesClient(socket(), loops);
  }

  @AfterEach
  void disconnect() {
    client.close();
    loops.shutdownGracefully();
  }

  @Test
  void holders_severalPods_areThoseWithDevicesOfTheResource() throws Exception {
    PodResources train =
        PodResources.newBuilder()
            .setNamespace("team-a")
            .setName("train")
            .addContainers(
                ContainerResources.newBuilder()
                    .setName("main")
                    .addDevices(devices("other.io/nic", "nic-0"))
                    .addDevices(devices(RESOURCE, "gpupool-0", "gpupool-1"))
                    .addDevices(devices(RESOURCE, "gpupool-7")))
            .addContainers(ContainerResources.newBuilder().setName("sidecar"))
            .build();
    PodResources web =
        PodResources.newBuilder()
            .setNamespace("team-b")
            .setName("web")
            .addContainers(
                ContainerResources.newBuilder()
                    .setName("main")
                    .addDevices(devices("other.io/nic", "nic-1")))
            .build();
    Server kubelet = serve(new Lister(train, web));
    assertThat(client.holdersOf(RESOURCE))
        .containsExactly(
            new HeldDevices(
                "team-a", "train", "main", List.of("gpupool-0", "gpupool-1", "gpupool-7")));
    kubelet.shutdownNow().awaitTermination();
  }

  @Test
  void holders_answerIsLargerThanUsual_areRead() throws Exception {
    String[] ids =
        IntStream.range(0, 20_000).mapToObj(n -> "x".repeat(300) + n).toArray(String[]::new);
    Server kubelet =
        serve(
            new Lister(
                PodResources.newBuilder()
                    .addContainers(
                        ContainerResources.newBuilder().addDevices(devices(RESOURCE, ids)))
                    .build()));
    assertThat(client.holdersOf(RESOURCE).getFirst().deviceIds()).containsExactly(ids);
    kubelet.shutdownNow().awaitTermination();
  }

  @Test
  void holders_kubeletIsAbsentAndComes_failsAndThenAnswers() throws Exception {
    assertThatThrownBy(() -> client.holdersOf(RESOURCE))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no kubelet answers at " + socket());
    Server kubelet = serve(new Lister());
    assertThat(client.holdersOf(RESOURCE)).isEmpty();
    kubelet.shutdownNow().awaitTermination();
  }

  @Test
  void holders_kubeletIsTooOld_saysWhichIsTheOldest() throws Exception {
    Server kubelet = serve(new PodResourcesListerGrpc.PodResourcesListerImplBase() {});
    assertThatThrownBy(() -> client.holdersOf(RESOURCE))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Kubernetes 1.20 is the oldest");
    kubelet.shutdownNow().awaitTermination();
  }

  private Path socket() {
    return folder.resolve("kubelet.sock");
  }

  private Server serve(BindableService service) throws IOException {
    return NettyServerBuilder.forAddress(new DomainSocketAddress(socket().toString()))
        .channelType(EpollServerDomainSocketChannel.class)
        .bossEventLoopGroup(loops)
        .workerEventLoopGroup(loops)
        .directExecutor()
        .addService(service)
        .build()
        .start();
  }

  private static ContainerDevices devices(String resource, String... ids) {
    return ContainerDevices.newBuilder()
        .setResourceName(resource)
        .addAllDeviceIds(List.of(ids))
        .build();
  }

  private static final class Lister extends PodResourcesListerGrpc.PodResourcesListerImplBase {
    private final ListPodResourcesResponse response;

    Lister(PodResources... pods) {
      response = ListPodResourcesResponse.newBuilder().addAllPodResources(List.of(pods)).build();
    }

    @Override
    public void list(
        ListPodResourcesRequest request, StreamObserver<ListPodResourcesResponse> caller) {
      caller.onNext(response);
      caller.onCompleted();
    }
  }
}
