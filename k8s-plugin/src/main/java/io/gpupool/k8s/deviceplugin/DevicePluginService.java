// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.k8s.deviceplugin.v1beta1.AllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.AllocateResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerPreferredAllocationRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerPreferredAllocationResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.DevicePluginGrpc;
import io.gpupool.k8s.deviceplugin.v1beta1.DevicePluginOptions;
import io.gpupool.k8s.deviceplugin.v1beta1.Empty;
import io.gpupool.k8s.deviceplugin.v1beta1.ListAndWatchResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.PreStartContainerRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.PreStartContainerResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.PreferredAllocationRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.PreferredAllocationResponse;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The device plugin API for the kubelet. For any thread. */
final class DevicePluginService extends DevicePluginGrpc.DevicePluginImplBase {
  static final DevicePluginOptions OPTIONS =
      DevicePluginOptions.newBuilder().setGetPreferredAllocationAvailable(true).build();
  private static final Logger LOG = LoggerFactory.getLogger(DevicePluginService.class);

  private final PoolState poolState;
  private final ContainerAllocation allocation;

  @GuardedBy("this")
  private final DeviceAdvertisement plan;

  @GuardedBy("this")
  private final Set<ListAndWatchStream> streams = new HashSet<>();

  DevicePluginService(PoolState poolState, PluginOptions options) {
    this.poolState = poolState;
    allocation = options.wiring();
    plan = new DeviceAdvertisement(options.maxSeats(), options.patience().toNanos());
  }

  /** Asks the pool for its GPUs and tells the kubelet of changes. */
  synchronized void refresh() {
    OptionalInt gpus = poolState.healthyGpus();
    Integer known = gpus.isPresent() ? Integer.valueOf(gpus.getAsInt()) : null;
    if (plan.update(known, System.nanoTime())) {
      LOG.info("the node has {} now", plan.seats());
      streams.forEach(stream -> stream.show(plan.seats()));
    }
  }

  /** Returns whether a kubelet watches the devices. */
  synchronized boolean isWatched() {
    return !streams.isEmpty();
  }

  @Override
  public void getDevicePluginOptions(Empty request, StreamObserver<DevicePluginOptions> kubelet) {
    answer(kubelet, OPTIONS);
  }

  @Override
  public synchronized void listAndWatch(
      Empty request, StreamObserver<ListAndWatchResponse> kubelet) {
    ServerCallStreamObserver<ListAndWatchResponse> call =
        (ServerCallStreamObserver<ListAndWatchResponse>) kubelet;
    ListAndWatchStream stream = new ListAndWatchStream(call, plan.seats());
    call.setOnCancelHandler(() -> forget(stream));
    streams.add(stream);
    stream.show(plan.seats());
  }

  private synchronized void forget(ListAndWatchStream stream) {
    streams.remove(stream);
  }

  @Override
  public void getPreferredAllocation(
      PreferredAllocationRequest request, StreamObserver<PreferredAllocationResponse> kubelet) {
    PreferredAllocationResponse.Builder response = PreferredAllocationResponse.newBuilder();
    try {
      for (ContainerPreferredAllocationRequest container : request.getContainerRequestsList()) {
        response.addContainerResponses(
            ContainerPreferredAllocationResponse.newBuilder()
                .addAllDeviceIDs(
                    PreferredAllocation.choose(
                        container.getAvailableDeviceIDsList(),
                        container.getMustIncludeDeviceIDsList(),
                        container.getAllocationSize())));
      }
    } catch (IllegalArgumentException e) {
      kubelet.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
      return;
    }
    answer(kubelet, response.build());
  }

  @Override
  public void allocate(AllocateRequest request, StreamObserver<AllocateResponse> kubelet) {
    AllocateResponse.Builder response = AllocateResponse.newBuilder();
    for (ContainerAllocateRequest container : request.getContainerRequestsList()) {
      Optional<String> objection = objection(container);
      if (objection.isPresent()) {
        LOG.warn("nothing is allocated: {}", objection.get());
        kubelet.onError(
            Status.INVALID_ARGUMENT.withDescription(objection.get()).asRuntimeException());
        return;
      }
      response.addContainerResponses(allocation.answer());
    }
    answer(kubelet, response.build());
  }

  private synchronized Optional<String> objection(ContainerAllocateRequest container) {
    return plan.objection(container.getDevicesIdsList());
  }

  /** Does nothing; the options do not ask for this call. */
  @Override
  public void preStartContainer(
      PreStartContainerRequest request, StreamObserver<PreStartContainerResponse> kubelet) {
    answer(kubelet, PreStartContainerResponse.getDefaultInstance());
  }

  private static <T> void answer(StreamObserver<T> kubelet, T message) {
    kubelet.onNext(message);
    kubelet.onCompleted();
  }
}
