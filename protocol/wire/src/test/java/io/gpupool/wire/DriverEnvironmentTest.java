// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DriverEnvironmentTest {
  @Test
  void of_knownAndUnknownVariables_keepsTheKnownAndNamesTheOthers() {
    List<String> ignored = new ArrayList<>();
    DriverEnvironment kept =
        DriverEnvironment.of(
            Map.of(
                "CUDA_DEVICE_MAX_CONNECTIONS", "1",
                "CUDA_SCALE_LAUNCH_QUEUES", "0.25x",
                "CUDA_MODULE_LOADING", "lazy; rm -rf /",
                "CUDA_CACHE_PATH", "/home/someone",
                "LD_PRELOAD", "x.so"),
            (name, value) -> ignored.add(name));
    assertThat(kept.variables())
        .isEqualTo(Map.of("CUDA_DEVICE_MAX_CONNECTIONS", "1", "CUDA_SCALE_LAUNCH_QUEUES", "0.25x"));
    assertThat(ignored)
        .containsExactlyInAnyOrder("CUDA_MODULE_LOADING", "CUDA_CACHE_PATH", "LD_PRELOAD");
  }

  @Test
  void parse_whatTextHasWritten_isTheSame() throws WireException {
    DriverEnvironment environment =
        new DriverEnvironment(
            Map.of("CUDA_MODULE_LOADING", "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS", "32"));
    assertThat(environment.text())
        .isEqualTo("CUDA_DEVICE_MAX_CONNECTIONS=32,CUDA_MODULE_LOADING=EAGER");
    assertThat(DriverEnvironment.parse(environment.text())).isEqualTo(environment);
    assertThat(DriverEnvironment.parse("")).isEqualTo(DriverEnvironment.NONE);
  }

  @Test
  void parse_anythingElse_isRefused() {
    List<String> others =
        List.of(
            "CUDA_DEVICE_MAX_CONNECTIONS=33",
            "CUDA_DEVICE_MAX_CONNECTIONS=0",
            "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT=101",
            "CUDA_MODULE_LOADING",
            "CUDA_MODULE_LOADING=LAZY\n",
            "CUDA_MODULE_LOADING=LAZY,CUDA_MODULE_LOADING=EAGER",
            "CUDA_CACHE_PATH=/tmp",
            "=1",
            ",");
    for (String other : others) {
      assertThatThrownBy(() -> DriverEnvironment.parse(other))
          .as(other)
          .isInstanceOf(WireException.class);
    }
  }

  @Test
  void missingIn_environmentWithTheSameValue_isNoneOfIt() {
    DriverEnvironment environment = new DriverEnvironment(Map.of("CUDA_MODULE_LOADING", "LAZY"));
    assertThat(environment.missingIn(Map.of("CUDA_MODULE_LOADING", "LAZY")))
        .isEqualTo(DriverEnvironment.NONE);
    assertThat(environment.missingIn(Map.of("CUDA_MODULE_LOADING", "EAGER")))
        .isEqualTo(environment);
  }
}
