// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceTaintBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSlice;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSliceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A probe for whether the API server would now keep other fields of slices than when they were
 * written. It uses dry runs. The API server drops fields of features that are off, and those may be
 * on later. Used by one thread.
 */
final class SliceProbe {
  static final Duration EVERY = Duration.ofMinutes(1);

  private final KubernetesClient client;
  private final Clock clock;
  private Instant next;

  SliceProbe(KubernetesClient client, Clock clock) {
    this.client = client;
    this.clock = clock;
    next = clock.instant().plus(EVERY);
  }

  /** Returns whether a look is due, which then counts as made. */
  boolean isDue() {
    Instant now = clock.instant();
    if (now.isBefore(next)) {
      return false;
    }
    next = now.plus(EVERY);
    return true;
  }

  /**
   * Returns whether writing these devices would change the slice.
   *
   * @throws io.fabric8.kubernetes.client.KubernetesClientException if that cannot be learned
   */
  boolean wouldDiffer(ResourceSlice published, List<Device> wanted) {
    ResourceSlice written =
        new ResourceSliceBuilder(published).editSpec().withDevices(wanted).endSpec().build();
    ResourceSlice kept = client.resource(written).dryRun().update();
    return !untimed(kept.getSpec().getDevices()).equals(untimed(published.getSpec().getDevices()));
  }

  /** Removes the times of taints, which the API server sets itself. */
  private static List<Device> untimed(List<Device> devices) {
    return devices.stream()
        .map(device ->
            new DeviceBuilder(device)
                .withTaints(
                    device.getTaints().stream()
                        .map(taint -> new DeviceTaintBuilder(taint).withTimeAdded(null).build())
                        .toList())
                .build())
        .toList();
  }
}
