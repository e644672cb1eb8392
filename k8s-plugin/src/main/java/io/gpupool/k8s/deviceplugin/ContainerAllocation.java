// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.container.ContainerWiring;
import io.gpupool.k8s.deviceplugin.v1beta1.CDIDevice;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.Mount;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The allocation that the kubelet gets for every container with devices.
 *
 * @param container from the node
 * @param cdiDevice VENDOR/CLASS=NAME of a device that the container runtime is to add, if it knows
 *     CDI; an older kubelet ignores it; null: none
 */
public record ContainerAllocation(ContainerWiring container, @Nullable String cdiDevice) {
  /** Throws {@link IllegalArgumentException} for folders that are not absolute. */
  public ContainerAllocation(Path shimFolder, Path agentFolder, @Nullable String cdiDevice) {
    this(new ContainerWiring(shimFolder, agentFolder), cdiDevice);
  }

  ContainerAllocateResponse answer() {
    ContainerAllocateResponse.Builder answer = ContainerAllocateResponse.newBuilder();
    for (ContainerWiring.Mount mount : container.mounts()) {
      answer.addMounts(
          Mount.newBuilder()
              .setHostPath(mount.host())
              .setContainerPath(mount.container())
              .setReadOnly(true));
    }
    answer.putAllEnvs(container.environment());
    if (cdiDevice != null) {
      answer.addCdiDevices(CDIDevice.newBuilder().setName(cdiDevice).build());
    }
    return answer.build();
  }
}
