// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContainerWiringTest {
  private static final Path SHIM = Path.of("/opt/gpupool/shim");
  private static final Path AGENT = Path.of("/var/run/pool");

  @Test
  void wiring_anyFolders_hasLibrariesAndSocket() {
    ContainerWiring wiring = new ContainerWiring(SHIM, AGENT);
    assertThat(wiring.mounts())
        .extracting(mount -> mount.host() + " " + mount.container())
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
    assertThat(wiring.environment())
        .isEqualTo(Map.of("GPUPOOL_AGENT", "/run/gpupool/agent.sock", "NCCL_P2P_LEVEL", "SYS"));
  }

  @Test
  void wiring_relativeFolder_isRefused() {
    assertThatThrownBy(() -> new ContainerWiring(Path.of("shim"), AGENT))
        .hasMessageContaining("'shim'")
        .hasMessageContaining("absolute path");
  }
}
