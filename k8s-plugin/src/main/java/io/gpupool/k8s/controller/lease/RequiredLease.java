// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.k8s.request.GpuRequest;
import java.util.List;

/**
 * A lease that a pod requires.
 *
 * @param container the container that the lease is named after
 * @param containers that may use it, the named one among them
 * @param first whether it is needed while init containers with a lease of their own still run
 * @param last whether it is needed when they have ended
 */
public record RequiredLease(
    String container, GpuRequest request, List<String> containers, boolean first, boolean last) {
  public RequiredLease {
    containers = List.copyOf(containers);
  }
}
