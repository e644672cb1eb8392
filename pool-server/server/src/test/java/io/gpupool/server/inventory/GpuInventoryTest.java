// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class GpuInventoryTest {
  @Test
  void parse_probeOutput_isRead() throws Exception {
    assertThat(
            GpuInventory.parse(
                "warm-up noise\n"
                    + "ordinal=1 uuid=GPU-1 memory=42 cc=9.0 driver=13000 name=NVIDIA H100 x\n",
                "s"))
        .containsExactly(new Gpu("s", 1, "GPU-1", new GpuModel("NVIDIA H100 x", 42, "9.0", 13000)));
  }

  @Test
  void parse_whatElseTheProbeSays_isKept() throws Exception {
    Gpu gpu =
        GpuInventory.parse(
                "ordinal=0 uuid=GPU-1 memory=42 cc=9.0 driver=13000 pci=0000:3b:00.0 bus=5120"
                    + " clock=1980000 memoryClock=2619000 multiprocessors=132 version=580.65.06"
                    + " context=419430400 nccl=22703 name=NVIDIA H100\n",
                "s")
            .getFirst();

    assertThat(gpu.facts())
        .isEqualTo(
            new GpuFacts(
                "580.65.06", "0000:3b:00.0", 132, 1980000, 2619000, 5120, 400 << 20, 22703));
  }

  @Test
  void parse_unreadableLine_isQuoted() {
    assertThatThrownBy(() -> GpuInventory.parse("ordinal=x memory=1 name=y", "s"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ordinal=x");
  }
}
