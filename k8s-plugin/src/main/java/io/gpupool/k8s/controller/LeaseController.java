// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.k8s.controller.lease.LeasePool;
import io.gpupool.k8s.controller.lease.LeaseRequests;
import io.gpupool.k8s.controller.lease.PodLeases;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.Api;
import io.gpupool.k8s.controller.pod.ApiCalls;
import io.gpupool.k8s.controller.pod.Informers;
import io.gpupool.k8s.controller.pod.Nodes;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.runtime.EventLoop;
import io.gpupool.runtime.Timers;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A controller that reserves a lease for each container of each pod that asks for GPUs, holds it
 * while the pod lives, and ends it. One at a time in a cluster. Started and closed by any thread.
 */
public final class LeaseController implements AutoCloseable {
  private static final long ANSWER_SECONDS = 5;
  private static final Duration LISTED_POLL = Duration.ofMillis(50);

  private final EventLoop loop = new EventLoop("gpupool-leases");
  private final Api api;
  private final PoolCalls connections;
  private final ApiServerHealth contact;
  private final Pods pods;
  private final NamespaceTenants tenants;
  private final Nodes nodes;
  private volatile @Nullable Informers informers;

  private LeaseController(
      KubernetesClient client,
      Supplier<ManagedChannel> pool,
      byte[] leaseKey,
      ControllerOptions options) {
    RandomGenerator random = new Random();
    ControllerOptions.Times times = options.times();
    LeaseRequests requests = new LeaseRequests(leaseKey, options);
    api = new Api(client);
    ApiCalls calls = new ApiCalls(loop);
    connections = new PoolCalls(pool, loop, loop);
    Releases releases = new Releases(connections, loop, times, random);
    PodWriter writer = new PodWriter(api, calls, loop, times, random);
    nodes = new Nodes(loop, times.nodeGone(), this::isReady);
    tenants =
        new NamespaceTenants(
            connections, options.holder(), loop, times, random, tenant -> refresh(tenant));
    DisconnectedSessions disconnected =
        new DisconnectedSessions(
            connections::listDisconnected,
            loop,
            times.reports().disconnected(),
            this::isInContact,
            leases -> refreshHolders(leases));
    Port port = new Port(releases, disconnected);
    pods =
        new Pods(
            new PodLeases.SharedServices(port, writer, loop, times, random),
            writer,
            tenants,
            nodes,
            requests);
    OrphanedLeaseCollector collector =
        new OrphanedLeaseCollector(
            connections, releases, pods, api, calls, loop, options, this::isInContact);
    port.collector = collector;
    contact = new ApiServerHealth(api, calls, loop, times, new OfContact(collector));
    informers = Informers.start(client, loop, new Watched());
    loop.execute(() -> {
      contact.start();
      disconnected.start();
      begin(collector);
    });
  }

  /** Asks for leases once all pods and tenants are known, so that they are asked for in order. */
  private void begin(OrphanedLeaseCollector collector) {
    if (isReady() && pods.areTenantsAnswered()) {
      pods.start();
      collector.soon();
      tenants.watch();
    } else {
      Timers.Cancellable ignored = loop.after(LISTED_POLL, () -> begin(collector));
    }
  }

  /**
   * Begins with the existing pods. It returns at once; whatever cannot be reached is retried.
   *
   * @param client not closed with this
   * @param pool opens a connection to the pool's control plane, with an admin's credentials; called
   *     once for every few hundred leases, and the connections are closed with this
   * @param leaseKey the key of request ids, at least 16 bytes; the same at each start, so that the
   *     same leases are found again
   */
  public static LeaseController start(
      KubernetesClient client,
      Supplier<ManagedChannel> pool,
      byte[] leaseKey,
      ControllerOptions options) {
    return new LeaseController(client, pool, leaseKey, options);
  }

  private void refresh(String tenant) {
    pods.refresh(tenant);
  }

  private void refreshHolders(Set<String> leases) {
    pods.refreshHolders(leases);
  }

  private boolean isInContact() {
    return isReady() && !pods.isApart();
  }

  /** Returns whether the cluster's pods, namespaces and nodes are known. */
  public boolean isReady() {
    Informers watched = informers;
    return watched != null && watched.haveSynced();
  }

  /** Returns the controller's counts; empty if it is too busy to answer. */
  public Optional<ControllerStats> figures() {
    CompletableFuture<ControllerStats> told = new CompletableFuture<>();
    loop.execute(() -> told.complete(pods.figures(api.calls())));
    return Optional.ofNullable(
        told.completeOnTimeout(null, ANSWER_SECONDS, TimeUnit.SECONDS).join());
  }

  /** Lets all leases go without ending them; the next controller takes them over. */
  @Override
  public void close() {
    loop.execute(() -> {
      contact.close();
      pods.releaseHold();
      connections.close();
    });
    loop.close();
    if (informers != null) {
      informers.close();
    }
  }

  /** The pods' access to the pool. */
  private final class Port implements LeasePool {
    private final Releases releases;
    private final DisconnectedSessions disconnected;
    private @Nullable OrphanedLeaseCollector collector;

    private Port(Releases releases, DisconnectedSessions disconnected) {
      this.releases = releases;
      this.disconnected = disconnected;
    }

    @Override
    public Stream ask(LeaseRequest request, LeaseEventStream.Listener listener) {
      return connections.ask(request, listener);
    }

    @Override
    public void release(String lease, String reason, Runnable done) {
      releases.release(lease, reason, done);
    }

    @Override
    public Optional<Instant> disconnectedUntil(String lease) {
      return disconnected.until(lease);
    }

    @Override
    public void sweepSoon() {
      Objects.requireNonNull(collector, "pods come after the collector").soon();
    }
  }

  /** The reaction to the API server's absence. */
  private final class OfContact implements ApiServerHealth.Listener {
    private final OrphanedLeaseCollector collector;

    private OfContact(OrphanedLeaseCollector collector) {
      this.collector = collector;
    }

    @Override
    public boolean isWatching() {
      Informers watched = informers;
      return watched != null && watched.areWatching();
    }

    @Override
    public void apart() {
      pods.releaseHold();
    }

    @Override
    public void back() {
      pods.goOn();
      collector.soon();
    }
  }

  /** The recipient of changes in the cluster. */
  private final class Watched implements Informers.Listener {
    @Override
    public void pod(PodFacts pod) {
      pods.seen(pod);
    }

    @Override
    public void podGone(PodKey pod) {
      pods.gone(pod);
    }

    @Override
    public void namespace(Namespace namespace) {
      Map<String, String> annotations = namespace.getMetadata().getAnnotations();
      tenants.seen(namespace.getMetadata().getName(), annotations == null ? Map.of() : annotations);
    }

    @Override
    public void namespaceGone(String name) {
      tenants.gone(name);
    }

    @Override
    public void node(String name, boolean ready) {
      nodes.seen(name, ready);
    }

    @Override
    public void nodeGone(String name) {
      nodes.gone(name);
    }
  }
}
