// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkerEnvironmentTest {
  private static final Map<String, String> SERVER =
      Map.of(
          "GPUPOOL_TOKEN", "secret",
          "AWS_SECRET_ACCESS_KEY", "secret",
          "HOME", "/root",
          "PATH", "/opt/anything",
          "LD_LIBRARY_PATH", "/opt/driver",
          "CUDA_DEVICE_ORDER", "PCI_BUS_ID",
          "TESTNVML", "/x");

  @Test
  void environment_ofAWorker_isWhatIsOnTheList() {
    assertThat(WorkerEnvironment.of(SERVER, List.of()))
        .containsOnly(
            Map.entry("PATH", "/usr/bin:/bin"),
            Map.entry("LD_LIBRARY_PATH", "/opt/driver"),
            Map.entry("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
            Map.entry("CUDA_MODULE_LOADING", "LAZY"),
            Map.entry("CUDA_CACHE_DISABLE", "1"));
  }

  @Test
  void variable_thatTheOperatorNames_isThereToo() {
    assertThat(WorkerEnvironment.of(SERVER, List.of("TESTNVML", "NOT_SET")))
        .containsEntry("TESTNVML", "/x")
        .doesNotContainKey("NOT_SET");
  }
}
