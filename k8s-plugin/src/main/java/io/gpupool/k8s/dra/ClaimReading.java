// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.resource.v1.AllocationResult;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceRequestAllocationResult;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaim;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimConsumerReference;
import io.gpupool.k8s.request.LeaseClass;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The meaning of a claim for this driver. */
sealed interface ClaimReading {
  /** A claim that needs nothing yet, needs nothing any more, or is not for this driver. */
  record Nothing() implements ClaimReading {}

  /** A claim that cannot be served as it stands. */
  record Refused(Pod pod, String reason) implements ClaimReading {}

  /**
   * A claim to a device, or to a part of one, for a pod.
   *
   * @param memoryBytes the part of the device's memory; null: all of it
   * @param computePercent the part of the device's time; null: all of it
   * @param leaseClass how the pod uses the device's time
   * @param other the refusal of the last other pod that uses the claim; the claim stays with the
   *     first pod; null: there is no other
   */
  record Wanted(
      String uid,
      String name,
      Pod pod,
      Device device,
      @Nullable Long memoryBytes,
      @Nullable Integer computePercent,
      LeaseClass leaseClass,
      @Nullable Refused other)
      implements ClaimReading {}

  /**
   * A device that is allocated to a claim.
   *
   * @param pool of Kubernetes: a server of gpupool
   */
  record Device(String pool, String name) {}

  /** A pod that uses a claim. */
  record Pod(String uid, String namespace, String name) {}

  /** Reads a claim as the API server has it. */
  static ClaimReading of(ResourceClaim claim) {
    if (claim.getStatus() == null || claim.getStatus().getAllocation() == null) {
      return new Nothing();
    }
    AllocationResult allocation = claim.getStatus().getAllocation();
    List<DeviceRequestAllocationResult> own =
        allocation.getDevices() == null
            ? List.of()
            : allocation.getDevices().getResults().stream()
                .filter(result -> DraNames.DRIVER.equals(result.getDriver()))
                .toList();
    List<ResourceClaimConsumerReference> users = claim.getStatus().getReservedFor();
    if (own.isEmpty() || users.isEmpty()) {
      return new Nothing();
    }
    Pod pod = pod(claim, users.getFirst());
    Refused other =
        new Refused(
            pod(claim, users.getLast()),
            "a claim of gpupool.io is for one pod at a time; name a ResourceClaimTemplate in the"
                + " pods, which makes one for each");
    if (!"pods".equals(users.getFirst().getResource())) {
      return other;
    }
    if (own.size() > 1) {
      return new Refused(
          pod,
          "a claim of gpupool.io is for one device, and this one has "
              + own.size()
              + "; for several GPUs ask with gpupool.io/gpu in the container's resources");
    }
    DeviceRequestAllocationResult result = own.getFirst();
    LeaseClass leaseClass;
    try {
      leaseClass =
          ClaimParameters.leaseClass(allocation.getDevices().getConfig(), result.getRequest());
    } catch (IllegalArgumentException e) {
      return new Refused(pod, String.valueOf(e.getMessage()));
    }
    if (Boolean.TRUE.equals(result.getAdminAccess())) {
      return new Refused(pod, "gpupool.io has no admin access: leave out adminAccess");
    }
    Map<String, Quantity> consumed =
        result.getConsumedCapacity() == null ? Map.of() : result.getConsumedCapacity();
    Optional<BigDecimal> memory = amount(consumed, DraNames.MEMORY);
    Optional<BigDecimal> compute = amount(consumed, DraNames.COMPUTE);
    return new Wanted(
        claim.getMetadata().getUid(),
        claim.getMetadata().getName(),
        pod,
        new Device(result.getPool(), result.getDevice()),
        memory.map(BigDecimal::longValue).orElse(null),
        compute.map(BigDecimal::intValue).orElse(null),
        leaseClass,
        users.size() > 1 ? other : null);
  }

  private static Pod pod(ResourceClaim claim, ResourceClaimConsumerReference user) {
    return new Pod(user.getUid(), claim.getMetadata().getNamespace(), user.getName());
  }

  /** Returns an amount, whose name may have the driver's domain as prefix. */
  private static Optional<BigDecimal> amount(Map<String, Quantity> consumed, String name) {
    return Optional.ofNullable(
            consumed.getOrDefault(name, consumed.get(DraNames.DRIVER + "/" + name)))
        .map(Quantity::getAmountInBytes);
  }
}
