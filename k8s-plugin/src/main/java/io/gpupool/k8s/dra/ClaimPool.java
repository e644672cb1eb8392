// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.client.lease.GpuSelectors;
import io.gpupool.client.lease.LeaseConnections;
import io.gpupool.client.lease.LeaseEventCall;
import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListPartitionsRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.PodRef;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.k8s.api.PodEventSink;
import io.gpupool.k8s.request.RequestIds;
import io.gpupool.runtime.EventLoop;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The pool and the events of pods, as the driver uses them. Owned by the driver's thread. */
final class ClaimPool implements ClaimLeases.Pool, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClaimPool.class);
  private static final long CALL_SECONDS = 20;
  // The longest that the pool lets a request wait.
  private static final Duration WAIT = Duration.ofDays(30);

  private final KubernetesClient client;
  private final PodEventSink events;
  private final RequestIds ids;
  private final DraOptions options;
  private final EventLoop thread;
  private final LeaseConnections leases;
  private final ManagedChannel channel;
  private List<PoolDevice> devices = List.of();
  private Set<String> servers = Set.of();
  private boolean known;

  ClaimPool(
      KubernetesClient client,
      Supplier<ManagedChannel> connect,
      byte[] leaseKey,
      DraOptions options,
      EventLoop thread) {
    this.client = client;
    events = new PodEventSink(client);
    ids = new RequestIds(leaseKey);
    this.options = options;
    this.thread = thread;
    leases = new LeaseConnections(connect, thread, System::nanoTime);
    channel = connect.get();
  }

  PoolGrpc.PoolBlockingStub blocking() {
    return PoolGrpc.newBlockingStub(channel).withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Asks the pool for its servers and devices. */
  void refresh() {
    ListServersReply there = blocking().listServers(ListRequest.getDefaultInstance());
    ListGpusReply gpus = blocking().listGpus(ListRequest.getDefaultInstance());
    devices =
        PoolDevice.of(
            there,
            gpus,
            PoolAdminGrpc.newBlockingStub(channel)
                .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
                .listPartitions(ListPartitionsRequest.getDefaultInstance()),
            options.partition());
    servers =
        there.getServersList().stream()
            .map(server -> DraNames.pool(server.getName()))
            .collect(Collectors.toSet());
    known = true;
  }

  List<PoolDevice> devices() {
    return devices;
  }

  Set<String> servers() {
    return servers;
  }

  @Override
  public boolean isKnown() {
    return known;
  }

  @Override
  public Optional<PoolDevice> device(String pool, String name) {
    return devices.stream()
        .filter(device -> device.pool().equals(pool) && device.name().equals(name))
        .findFirst();
  }

  @Override
  public Optional<String> node(ClaimReading.Pod pod) {
    try {
      return Optional.ofNullable(
              client.pods().inNamespace(pod.namespace()).withName(pod.name()).get())
          .filter(found -> found.getMetadata().getUid().equals(pod.uid()))
          .map(found -> found.getSpec().getNodeName())
          .filter(node -> !node.isEmpty());
    } catch (KubernetesClientException e) {
      LOG.debug("the node of pod {}/{} is asked for again", pod.namespace(), pod.name(), e);
      return Optional.empty();
    }
  }

  @Override
  public ClaimLeases.Hold ask(
      ClaimReading.Wanted wanted,
      PoolDevice device,
      String node,
      LeaseEventStream.Listener listener) {
    LeaseRequest.Builder request =
        LeaseRequest.newBuilder()
            .setPartition(options.partition())
            .addSelectors(GpuSelectors.of("uuid", device.gpu().getUuid()))
            .setTenant(device.tenant())
            .setClass_(wanted.leaseClass().message())
            .setWaitMillis(WAIT.toMillis())
            .setGraceMillis(options.grace().toMillis())
            .setRequestId(ids.of("claim/" + wanted.uid() + "/" + wanted.pod().uid()))
            // Another controller may have asked before, and that lease is wanted.
            .setResumed(true)
            .setHolder(
                Holder.newBuilder()
                    .setHost(wanted.pod().namespace() + "/" + wanted.pod().name())
                    .setProgram(wanted.name())
                    .setUser(options.holder()))
            .setPod(
                PodRef.newBuilder()
                    .setUid(wanted.pod().uid())
                    .setNamespace(wanted.pod().namespace())
                    .setName(wanted.pod().name())
                    .setNode(node)
                    .addContainers(DraNames.claim(wanted.uid())));
    if (wanted.memoryBytes() != null) {
      request.setMemoryBytes(wanted.memoryBytes());
    }
    if (wanted.computePercent() != null) {
      request.setComputePercent(wanted.computePercent());
    }
    LeaseEventCall<LeaseRequest> call = leases.request(request.build(), listener);
    return () -> call.cancel("no longer wanted");
  }

  @Override
  public void release(String lease, String reason) {
    try {
      blocking()
          .releaseLease(
              ReleaseLeaseRequest.newBuilder().setLeaseId(lease).setReason(reason).build());
    } catch (StatusRuntimeException e) {
      // The next sweep ends it, if it still exists.
      LOG.debug("lease {} is not released now", lease, e);
    }
  }

  @Override
  public void later(Duration pause, Runnable task) {
    thread.after(pause, task);
  }

  @Override
  public void tell(ClaimReading.Pod pod, boolean warning, String reason, String message) {
    try {
      events.write(pod.namespace(), pod.name(), pod.uid(), warning, reason, message);
    } catch (KubernetesClientException e) {
      LOG.warn("pod {}/{}: {} (no event could be written)", pod.namespace(), pod.name(), message);
    }
  }

  @Override
  public void close() {
    leases.close();
    channel.shutdownNow();
  }
}
