// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.client.lease.GpuSelectors;
import io.gpupool.control.v1.Gang;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.request.GpuRequest.Size;
import io.gpupool.k8s.request.PodRequest;
import io.gpupool.k8s.request.RequestIds;
import java.math.BigDecimal;

/**
 * A factory of lease requests. A pod's container always has the same request id, whichever
 * controller makes the request.
 */
public final class LeaseRequests {
  private static final long WAIT_MILLIS = 30L * 24 * 3600 * 1000;

  private final RequestIds ids;
  private final ControllerOptions options;

  public LeaseRequests(byte[] key, ControllerOptions options) {
    ids = new RequestIds(key);
    this.options = options;
  }

  /**
   * Returns the priority of a pod's requests: that of its annotation, else that of its
   * PriorityClass, clamped to the pool's range and the tenant's limit.
   *
   * @param most the tenant's limit
   */
  public static int priority(PodFacts pod, PodRequest asked, int most) {
    if (pod.classPriority().isEmpty()) {
      return asked.priority();
    }
    int priority =
        Math.clamp(
            pod.classPriority().getAsInt(), -PodRequest.MAX_PRIORITY, PodRequest.MAX_PRIORITY);
    return Math.min(priority, most);
  }

  public LeaseRequest of(
      PodKey pod, PodRequest asked, RequiredLease wanted, String tenant, int priority) {
    LeaseRequest.Builder request =
        LeaseRequest.newBuilder()
            .setGpus(wanted.request().gpus())
            .addAllSelectors(GpuSelectors.of(asked.select()))
            .setTenant(tenant)
            .setPriority(priority)
            .setClass_(asked.leaseClass().message())
            .setWaitMillis(WAIT_MILLIS)
            .setHolder(
                Holder.newBuilder()
                    .setHost(pod.toString())
                    .setProgram(wanted.container())
                    .setUser(options.holder()))
            .setRequestId(id(pod, wanted.container()))
            // An earlier controller may have made it before.
            .setResumed(true)
            .setGraceMillis(options.grace().toMillis())
            .setPod(
                PodRef.newBuilder()
                    .setUid(pod.uid())
                    .setNamespace(pod.namespace())
                    .setName(pod.name())
                    .addAllContainers(wanted.containers()));
    switch (wanted.request().size()) {
      case Size.Fraction(BigDecimal part) -> request.setFraction(part.doubleValue());
      case Size.Memory(long bytes) -> request.setMemoryBytes(bytes);
    }
    if (wanted.request().computePercent() != null) {
      request.setComputePercent(wanted.request().computePercent());
    }
    if (asked.resumeWindowMillis() != null) {
      request.setResumeWindowMillis(asked.resumeWindowMillis());
    }
    if (asked.gang() != null) {
      // Tenants can have several namespaces.
      request.setGang(
          Gang.newBuilder()
              .setName(pod.namespace() + "/" + asked.gang().name())
              .setSize(asked.gang().size()));
    }
    return request.build();
  }

  /** Returns the request id, known only to holders of the key. */
  String id(PodKey pod, String container) {
    return ids.of(pod.uid() + "/" + container);
  }
}
