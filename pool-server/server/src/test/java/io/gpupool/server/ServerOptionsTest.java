// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerOptionsTest {
  @Test
  void gpuSpec_knownForms_areTaken() {
    assertThat(new GpuSpec("all").isSoft()).isFalse();
    assertThat(new GpuSpec("soft:2,mem=8Gi,cc=12.0").isSoft()).isTrue();
    assertThat(new GpuSpec("soft").text()).isEqualTo("soft:1");
    assertThat(new GpuSpec("soft,mem=1Gi").text()).isEqualTo("soft:1,mem=1Gi");
  }

  @Test
  void gpuSpec_anythingElse_saysWhatIsWrong() {
    for (String text :
        new String[] {
          "",
          "none",
          "soft:0",
          "soft:65",
          "soft:x",
          "soft:1,mem=1",
          "soft:1,cc=9",
          "soft:1,x=1",
          "all,mem=1Gi,cc=x",
          "softer:1",
          "soft:1,"
        }) {
      assertThatThrownBy(() -> new GpuSpec(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("--gpus");
    }
  }

  @Test
  void inventory_probeOutput_isRead() throws Exception {
    assertThat(
            Inventory.parse(
                "warm-up noise\n"
                    + "ordinal=1 uuid=GPU-1 memory=42 cc=9.0 driver=13000 name=NVIDIA H100 x\n",
                "s"))
        .containsExactly(new Gpu("s", 1, "GPU-1", "NVIDIA H100 x", 42, "9.0", 13000));
  }

  @Test
  void inventory_unreadableLine_isQuoted() {
    assertThatThrownBy(() -> Inventory.parse("ordinal=x memory=1 name=y", "s"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("ordinal=x");
  }

  @Test
  void driverSearch_libraryOnThePathOrNamed_isFound(@TempDir Path folder) throws Exception {
    boolean onThisMachine = DriverSearch.mayFind(Optional.empty(), Optional.empty());
    assertThat(DriverSearch.mayFind(Optional.empty(), Optional.of(folder.toString())))
        .isEqualTo(onThisMachine);
    Files.createFile(folder.resolve("libcuda.so.1"));
    assertThat(DriverSearch.mayFind(Optional.empty(), Optional.of("/x:" + folder))).isTrue();
    assertThat(DriverSearch.mayFind(Optional.of(folder), Optional.empty())).isTrue();
  }
}
