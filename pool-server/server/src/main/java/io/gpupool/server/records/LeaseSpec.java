// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A checked request for a lease.
 *
 * @param requirements the GPUs that it asks for
 * @param priority larger goes first
 * @param waitMillis how long it may wait for others to end; 0: not at all
 * @param owner the owner of the lease once it is granted
 * @param principal the caller that asks
 * @param limits the limits at which the lease ends by itself
 * @param leaseClass the use that its programs make of a GPU's time
 * @param gang the gang with which it is granted; null: it is granted by itself
 */
public record LeaseSpec(
    GpuRequirements requirements,
    int priority,
    long waitMillis,
    LeaseOwner owner,
    Principal principal,
    LeaseLimits limits,
    LeaseClass leaseClass,
    @Nullable Gang gang) {
  public LeaseSpec(
      GpuRequirements requirements,
      int priority,
      long waitMillis,
      LeaseOwner owner,
      Principal principal,
      LeaseLimits limits,
      LeaseClass leaseClass) {
    this(requirements, priority, waitMillis, owner, principal, limits, leaseClass, null);
  }

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
        new LeaseOwner(holder, tenant, null),
        principal,
        limits,
        LeaseClass.BATCH);
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

  public HolderName holder() {
    return owner.holder();
  }

  public String tenant() {
    return owner.tenant();
  }

  public Optional<LeasePod> pod() {
    return Optional.ofNullable(owner.pod());
  }

  /** Returns whether the lease is for a pod's container. */
  public boolean isFor(String podUid, String container) {
    return pod().filter(named -> named.serves(podUid, container)).isPresent();
  }
}
