// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.container.ContainerWiring;
import io.gpupool.k8s.deviceplugin.v1beta1.CDIDevice;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.Mount;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The allocation that the kubelet gets for every container with devices.
 *
 * @param container from the node
 * @param cdiDevice VENDOR/CLASS=NAME of a device that the container runtime is to add, if it knows
 *     CDI; an older kubelet ignores it
 */
public record ContainerAllocation(ContainerWiring container, Optional<String> cdiDevice) {
  /** Throws {@link IllegalArgumentException} for folders that are not absolute. */
  public ContainerAllocation(Path shimFolder, Path agentFolder, Optional<String> cdiDevice) {
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
    cdiDevice.ifPresent(name -> answer.addCdiDevices(CDIDevice.newBuilder().setName(name).build()));
    return answer.build();
  }
}
