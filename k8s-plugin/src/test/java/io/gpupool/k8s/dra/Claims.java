// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceRequestAllocationResult;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceRequestAllocationResultBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaim;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimConsumerReference;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimConsumerReferenceBuilder;
import java.util.Arrays;
import java.util.List;

/** Claims as the scheduler leaves them. */
final class Claims {
  private Claims() {}

  static ResourceClaim claim(
      String name, List<DeviceRequestAllocationResult> results, String... pods) {
    return new ResourceClaimBuilder()
        .withNewMetadata()
        .withNamespace("team")
        .withName(name)
        .withUid("uid-of-" + name)
        .endMetadata()
        .withNewSpec()
        .endSpec()
        .withNewStatus()
        .withNewAllocation()
        .withNewDevices()
        .withResults(results)
        .endDevices()
        .endAllocation()
        .withReservedFor(Arrays.stream(pods).map(Claims::pod).toList())
        .endStatus()
        .build();
  }

  private static ResourceClaimConsumerReference pod(String name) {
    return new ResourceClaimConsumerReferenceBuilder()
        .withResource("pods")
        .withName(name)
        .withUid("uid-of-" + name)
        .build();
  }

  static DeviceRequestAllocationResult result(String driver, String pool, String device) {
    return new DeviceRequestAllocationResultBuilder()
        .withDriver(driver)
        .withPool(pool)
        .withDevice(device)
        .withRequest("gpu")
        .build();
  }

  static DeviceRequestAllocationResult share(
      String pool, String device, String memory, String compute) {
    return new DeviceRequestAllocationResultBuilder(result("gpupool.io", pool, device))
        .addToConsumedCapacity("memory", new Quantity(memory))
        .addToConsumedCapacity("compute", new Quantity(compute))
        .withShareID("0b2d7a3e-6a0c-4a4e-9f53-1f6f4e6e2b11")
        .build();
  }
}
