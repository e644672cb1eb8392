// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.api.Failures;
import io.gpupool.k8s.certificates.CertificateKeeper;
import io.gpupool.k8s.certificates.Lifetimes;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.controller.LeaseController;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.dra.DraController;
import io.gpupool.k8s.dra.DraOptions;
import io.gpupool.k8s.drain.NodeDrains;
import io.gpupool.runtime.BackgroundThread;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tasks of the leader: certificates, leases, and draining the servers of nodes that leave.
 * Leases start once everything that they need exists. Runs on its own thread; any thread may call
 * it.
 */
final class LeaderTasks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LeaderTasks.class);
  private static final Duration AGAIN = Duration.ofSeconds(2);
  private static final Duration DRAINS_EVERY = Duration.ofSeconds(5);

  private final KubernetesClient client;
  private final PoolConnections pool;
  private final Plan plan;
  private final @Nullable CertificateKeeper keeper;
  private final BackgroundThread thread;
  private volatile @Nullable LeaseController leases;
  private volatile @Nullable DraController claims;
  private @Nullable ManagedChannel drainsPool;
  private @Nullable NodeDrains drains;

  /**
   * The settings of the tasks.
   *
   * @param release the prefix of the objects' names
   * @param lifetimes of certificates; null: somebody else makes them
   * @param cluster null: the UID of the namespace kube-system
   * @param drainMove whether servers on nodes that leave move their leases to other servers
   * @param claims the partitions that are set aside for resource claims; null: none are served
   */
  record Plan(
      String release,
      String namespace,
      @Nullable Lifetimes lifetimes,
      @Nullable String cluster,
      Duration grace,
      boolean drainMove,
      @Nullable String claims) {}

  private LeaderTasks(KubernetesClient client, PoolConnections pool, Plan plan) {
    this.client = client;
    this.pool = pool;
    this.plan = plan;
    Lifetimes lifetimes = plan.lifetimes();
    keeper =
        lifetimes == null
            ? null
            : CertificateKeeper.start(client, plan.release(), plan.namespace(), lifetimes);
    thread = new BackgroundThread(Thread.ofVirtual().name("leases"), this::run);
  }

  /** Begins the tasks; whatever cannot be reached is retried. */
  static LeaderTasks begin(KubernetesClient client, PoolConnections pool, Plan plan) {
    LeaderTasks tasks = new LeaderTasks(client, pool, plan);
    tasks.thread.start();
    return tasks;
  }

  /** Returns the controller of leases, once it was started. */
  Optional<LeaseController> leases() {
    return Optional.ofNullable(leases);
  }

  private void run() {
    try {
      // When a release is new, the roots come from the keeper of certificates.
      drainsPool = pool.openWhenThere();
      drains =
          NodeDrains.start(
              client,
              drainsPool,
              plan.release() + "-server",
              plan.namespace(),
              plan.drainMove(),
              DRAINS_EVERY);
      StateChangeLogger changes = new StateChangeLogger(LOG);
      while (leases == null) {
        try {
          leases = startLeases();
        } catch (RuntimeException e) {
          if (!Thread.currentThread().isInterrupted()) {
            changes.warn("leases cannot be made yet, it is tried again: " + Failures.reason(e));
          }
          Thread.sleep(AGAIN);
        }
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  private LeaseController startLeases() {
    byte[] key = LeaseKey.of(client, plan.namespace(), plan.release() + "-leases");
    String cluster = plan.cluster() == null ? clusterId() : plan.cluster();
    String partition = plan.claims();
    if (claims == null && partition != null) {
      claims =
          DraController.start(
              client,
              pool::open,
              key,
              DraOptions.of(plan.release(), cluster, partition, plan.grace()));
    }
    return LeaseController.start(
        client,
        pool::open,
        key,
        new ControllerOptions(cluster, plan.grace(), ControllerOptions.Times.USUAL));
  }

  private String clusterId() {
    Namespace system = client.namespaces().withName("kube-system").get();
    if (system == null) {
      throw new IllegalStateException(
          "there is no namespace kube-system, whose UID identifies this cluster: give --cluster");
    }
    return system.getMetadata().getUid();
  }

  @Override
  public void close() {
    thread.close();
    if (drains != null) {
      drains.close();
    }
    if (drainsPool != null) {
      drainsPool.shutdownNow();
    }
    if (leases != null) {
      leases.close();
    }
    if (claims != null) {
      claims.close();
    }
    if (keeper != null) {
      keeper.close();
    }
  }
}
