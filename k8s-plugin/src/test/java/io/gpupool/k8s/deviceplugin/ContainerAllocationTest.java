// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateResponse;
import io.gpupool.k8s.deviceplugin.v1beta1.Mount;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContainerAllocationTest {
  private static final Path SHIM = Path.of("/opt/gpupool/shim");
  private static final Path AGENT = Path.of("/var/run/pool");

  @Test
  void answer_noCdi_mountsLibrariesAndSocketReadOnly() {
    ContainerAllocateResponse answer = new ContainerAllocation(SHIM, AGENT, null).answer();
    assertThat(answer.getMountsList())
        .allMatch(Mount::getReadOnly)
        .extracting(mount -> mount.getHostPath() + " " + mount.getContainerPath())
        .containsExactly(
            "/opt/gpupool/shim/libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1",
            "/opt/gpupool/shim/libnvidia-ml.so.1 /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
            "/opt/gpupool/shim/libcuda.so.1 /usr/lib64/libcuda.so.1",
            "/opt/gpupool/shim/libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so.1",
            "/opt/gpupool/shim/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1",
            "/opt/gpupool/shim/libnvidia-ml.so.1 /usr/local/nvidia/lib64/libnvidia-ml.so.1",
            "/opt/gpupool/nccl/libnccl.so.2 /usr/lib/gpupool/libnccl.so.2",
            "/opt/gpupool/nccl/ld.so.preload /etc/ld.so.preload",
            "/var/run/pool /run/gpupool");
    assertThat(answer.getEnvsMap())
        .isEqualTo(Map.of("GPUPOOL_AGENT", "/run/gpupool/agent.sock", "NCCL_P2P_LEVEL", "SYS"));
    assertThat(answer.getCdiDevicesList()).isEmpty();
  }

  @Test
  void answer_cdi_namesTheDeviceToo() {
    ContainerAllocation allocation = new ContainerAllocation(SHIM, AGENT, "gpupool.io/gpu=shared");
    assertThat(allocation.answer().getCdiDevices(0).getName()).isEqualTo("gpupool.io/gpu=shared");
    assertThat(allocation.answer().getMountsCount()).isEqualTo(9);
  }
}
