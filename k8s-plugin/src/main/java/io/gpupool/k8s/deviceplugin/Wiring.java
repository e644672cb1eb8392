// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.k8s.deviceplugin.v1beta1.CDIDevice;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.Mount;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What every container gets that has seats: the shim under the names of NVIDIA's libraries, and the
 * agent's socket. No device node and no privilege.
 *
 * @param shimFolder on the node, with the shim's libraries
 * @param agentFolder on the node, with the agent's socket, agent.sock
 * @param cdiDevice VENDOR/CLASS=NAME of a device that the container runtime is to add, where it
 *     knows CDI; an older kubelet passes over it
 */
public record Wiring(Path shimFolder, Path agentFolder, Optional<String> cdiDevice) {
  private static final List<String> LIBRARIES = List.of("libcuda.so.1", "libnvidia-ml.so.1");
  // Where the loaders of Debian's and Red Hat's kinds look, and where NVIDIA's images have theirs
  // look: so no environment variable of the image need be replaced.
  private static final List<String> LIBRARY_FOLDERS =
      List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64");
  private static final String AGENT_FOLDER = "/run/gpupool";

  /** Throws {@link IllegalArgumentException} for folders that are not absolute. */
  public Wiring {
    for (Path folder : List.of(shimFolder, agentFolder)) {
      if (!folder.isAbsolute()) {
        throw new IllegalArgumentException(
            "'" + folder + "' is to be a folder of the node: give its path from the root");
      }
    }
  }

  ContainerAllocateResponse answer() {
    ContainerAllocateResponse.Builder answer = ContainerAllocateResponse.newBuilder();
    for (String folder : LIBRARY_FOLDERS) {
      for (String library : LIBRARIES) {
        answer.addMounts(mount(shimFolder.resolve(library), folder + "/" + library));
      }
    }
    // Read-only keeps nobody from connecting, but from removing the socket that all pods share.
    answer.addMounts(mount(agentFolder, AGENT_FOLDER));
    answer.putEnvs("GPUPOOL_AGENT", AGENT_FOLDER + "/agent.sock");
    // Else NCCL takes GPUs whose buses it does not know for far apart, and goes by way of hosts.
    answer.putEnvs("NCCL_P2P_LEVEL", "SYS");
    cdiDevice.ifPresent(name -> answer.addCdiDevices(CDIDevice.newBuilder().setName(name).build()));
    return answer.build();
  }

  private static Mount mount(Path host, String container) {
    return Mount.newBuilder()
        .setHostPath(host.toString())
        .setContainerPath(container)
        .setReadOnly(true)
        .build();
  }
}
