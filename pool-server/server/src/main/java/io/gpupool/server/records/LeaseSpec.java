// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import java.util.Optional;

/**
 * A checked request for a lease.
 *
 * @param requirements what is wanted
 * @param priority who goes first; larger is sooner
 * @param waitMillis how long it may wait for others to end; 0: not at all
 * @param holder on whose behalf
 * @param principal who asked
 * @param tenant under whose name; empty: nobody's
 * @param limits when the lease ends by itself
 * @param leaseClass what its programs do with a GPU's time
 * @param pod whose lease it will be
 */
public record LeaseSpec(
    GpuRequirements requirements,
    int priority,
    long waitMillis,
    HolderName holder,
    Principal principal,
    String tenant,
    LeaseLimits limits,
    LeaseClass leaseClass,
    Optional<LeasePod> pod) {
  public LeaseSpec(
      GpuRequirements requirements,
      int priority,
      long waitMillis,
      HolderName holder,
      Principal principal,
      String tenant,
      LeaseLimits limits) {
    this(
        requirements,
        priority,
        waitMillis,
        holder,
        principal,
        tenant,
        limits,
        LeaseClass.BATCH,
        Optional.empty());
  }

  public LeaseSpec(
      GpuRequirements requirements,
      int priority,
      long waitMillis,
      HolderName holder,
      Principal principal,
      String tenant) {
    this(requirements, priority, waitMillis, holder, principal, tenant, LeaseLimits.NONE);
  }

  /** Whether the lease is for a pod's container. */
  public boolean isFor(String podUid, String container) {
    return pod.filter(named -> named.serves(podUid, container)).isPresent();
  }
}
