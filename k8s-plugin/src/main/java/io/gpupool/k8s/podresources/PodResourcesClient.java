// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.podresources;

import io.gpupool.k8s.kubelet.KubeletSocket;
import io.gpupool.k8s.podresources.v1.ContainerResources;
import io.gpupool.k8s.podresources.v1.ListPodResourcesRequest;
import io.gpupool.k8s.podresources.v1.ListPodResourcesResponse;
import io.gpupool.k8s.podresources.v1.PodResources;
import io.gpupool.k8s.podresources.v1.PodResourcesListerGrpc;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Asks the kubelet who has its devices (PodResources v1, served since Kubernetes 1.20). For any
 * thread.
 */
public final class PodResourcesClient implements AutoCloseable {
  public static final Path DEFAULT_SOCKET = Path.of("/var/lib/kubelet/pod-resources/kubelet.sock");
  private static final long CALL_SECONDS = 10;

  private final KubeletSocket socket;
  private final ManagedChannel channel;

  /** Connects nothing yet. */
  public PodResourcesClient(Path socket, EventLoopGroup loops) {
    this.socket = new KubeletSocket(socket);
    channel = this.socket.channel(loops);
  }

  /**
   * The containers that have devices of a resource. The kubelet may still name pods that have just
   * ended.
   *
   * @throws IOException if the kubelet does not answer; the message is for people
   */
  public List<HeldDevices> holdersOf(String resource) throws IOException {
    ListPodResourcesResponse response;
    try {
      connectAfresh();
      response =
          PodResourcesListerGrpc.newBlockingStub(channel)
              .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
              .list(ListPodResourcesRequest.getDefaultInstance());
    } catch (StatusRuntimeException e) {
      throw new IOException(reason(e.getStatus()), e);
    }
    List<HeldDevices> holders = new ArrayList<>();
    for (PodResources pod : response.getPodResourcesList()) {
      for (ContainerResources container : pod.getContainersList()) {
        List<String> ids =
            container.getDevicesList().stream()
                .filter(devices -> devices.getResourceName().equals(resource))
                .flatMap(devices -> devices.getDeviceIdsList().stream())
                .toList();
        if (!ids.isEmpty()) {
          holders.add(new HeldDevices(pod.getNamespace(), pod.getName(), container.getName(), ids));
        }
      }
    }
    return holders;
  }

  /** Has the call try to connect, however often that has failed before. */
  private void connectAfresh() {
    if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
      channel.enterIdle();
    }
  }

  private String reason(Status status) {
    return switch (status.getCode()) {
      case UNIMPLEMENTED ->
          "the kubelet at " + socket + " has no PodResources v1: Kubernetes 1.20 is the oldest";
      case UNAVAILABLE -> "no kubelet answers at " + socket + ": is its folder mounted here?";
      default ->
          "the kubelet at "
              + socket
              + " does not tell who has its devices: "
              + status.getCode()
              + " "
              + status.getDescription();
    };
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
