// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.podresources;

import java.util.List;

/** The devices of one resource that a container has: at least one. */
public record HeldDevices(String namespace, String pod, String container, List<String> deviceIds) {
  public HeldDevices {
    deviceIds = List.copyOf(deviceIds);
  }
}
