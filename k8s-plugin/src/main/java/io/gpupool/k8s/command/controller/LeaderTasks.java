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
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.Optional;
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
  private final Optional<CertificateKeeper> keeper;
  private final Thread thread;
  private volatile Optional<LeaseController> leases = Optional.empty();
  private volatile Optional<DraController> claims = Optional.empty();
  private Optional<ManagedChannel> drainsPool = Optional.empty();
  private Optional<NodeDrains> drains = Optional.empty();

  /**
   * The settings of the tasks.
   *
   * @param release the prefix of the objects' names
   * @param lifetimes of certificates; empty: somebody else makes them
   * @param cluster empty: the UID of the namespace kube-system
   * @param claims the partitions that are set aside for resource claims; empty: none are served
   */
  record Plan(
      String release,
      String namespace,
      Optional<Lifetimes> lifetimes,
      Optional<String> cluster,
      Duration grace,
      Optional<String> claims) {}

  private LeaderTasks(KubernetesClient client, PoolConnections pool, Plan plan) {
    this.client = client;
    this.pool = pool;
    this.plan = plan;
    keeper =
        plan.lifetimes()
            .map(lifetimes ->
                CertificateKeeper.start(client, plan.release(), plan.namespace(), lifetimes));
    thread = Thread.ofVirtual().name("leases").unstarted(this::run);
  }

  /** Begins the tasks; whatever cannot be reached is retried. */
  static LeaderTasks begin(KubernetesClient client, PoolConnections pool, Plan plan) {
    LeaderTasks tasks = new LeaderTasks(client, pool, plan);
    tasks.thread.start();
    return tasks;
  }

  /** Returns the controller of leases, once it was started. */
  Optional<LeaseController> leases() {
    return leases;
  }

  private void run() {
    try {
      // When a release is new, the roots come from the keeper of certificates.
      drainsPool = Optional.of(pool.openWhenThere());
      drains =
          Optional.of(
              NodeDrains.start(
                  client,
                  drainsPool.get(),
                  plan.release() + "-server",
                  plan.namespace(),
                  DRAINS_EVERY));
      StateChangeLogger changes = new StateChangeLogger(LOG);
      while (leases.isEmpty()) {
        try {
          leases = Optional.of(startLeases());
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
    String cluster = plan.cluster().orElseGet(this::clusterId);
    if (claims.isEmpty()) {
      claims =
          plan.claims()
              .map(partition ->
                  DraController.start(
                      client,
                      pool::open,
                      key,
                      DraOptions.of(plan.release(), cluster, partition, plan.grace())));
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
          "there is no namespace kube-system, by whose UID this cluster is told from others: give"
              + " --cluster");
    }
    return system.getMetadata().getUid();
  }

  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    drains.ifPresent(NodeDrains::close);
    drainsPool.ifPresent(ManagedChannel::shutdownNow);
    leases.ifPresent(LeaseController::close);
    claims.ifPresent(DraController::close);
    keeper.ifPresent(CertificateKeeper::close);
  }
}
