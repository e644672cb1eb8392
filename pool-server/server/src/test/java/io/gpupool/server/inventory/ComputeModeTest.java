// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.driver.DriverOptions.Sharing;
import org.junit.jupiter.api.Test;

class ComputeModeTest {
  private static final String DEFAULT = "ordinal=0 uuid=GPU-1 memory=1 cc=9.0 name=H100\n";
  private static final String EXCLUSIVE =
      "ordinal=1 uuid=GPU-2 memory=1 cc=9.0 clock=1 computeMode=3 multiprocessors=4 name=H100\n";
  private static final String PROHIBITED =
      "ordinal=2 uuid=GPU-3 memory=1 cc=9.0 clock=1 computeMode=2 multiprocessors=4 name=H100\n";

  @Test
  void refusal_ofADefaultMode_isNone() {
    assertThat(ComputeMode.refusal(DEFAULT, Sharing.timeslice)).isEmpty();
  }

  @Test
  void refusal_ofAnExclusiveProcess_isThereWithoutMpsAlone() {
    assertThat(ComputeMode.refusal(DEFAULT + EXCLUSIVE, Sharing.timeslice))
        .hasValueSatisfying(why -> assertThat(why).contains("GPU 1", "nvidia-smi -c 0", "mps"));
    assertThat(ComputeMode.refusal(DEFAULT + EXCLUSIVE, Sharing.mps)).isEmpty();
  }

  @Test
  void refusal_ofAProhibitedGpu_isThereAlways() {
    assertThat(ComputeMode.refusal(PROHIBITED, Sharing.mps))
        .hasValueSatisfying(why -> assertThat(why).contains("GPU 2", "Prohibited"));
  }
}
