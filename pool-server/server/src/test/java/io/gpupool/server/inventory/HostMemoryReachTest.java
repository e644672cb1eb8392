// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which GPUs a server warns of at its start. */
class HostMemoryReachTest {
  @Test
  void warnings_gpuThatReachesHostMemory_isNamedWithWhatToDo() {
    String probed =
        """
        ordinal=0 uuid=GPU-a memory=1024 cc=9.0 driver=13000 bus=512 name=NVIDIA H200
        ordinal=1 uuid=GPU-b memory=1024 cc=9.0 driver=13000 bus=512 hostMemory=1 name=NVIDIA GH200
        """;

    assertThat(HostMemoryReach.warnings(probed))
        .singleElement()
        .asString()
        .contains("GPU 1 (NVIDIA GH200)", "uvm_disable_hmm=1");
  }
}
