// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class PluginOptionsTest {
  private static final ContainerAllocation WIRING =
      new ContainerAllocation(Path.of("/shim"), Path.of("/agent"), null);
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void options_defaults_areTheKubeletsFolderAndResource() {
    PluginOptions options = PluginOptions.of(WIRING);
    assertThat(options.socket()).hasToString("/var/lib/kubelet/device-plugins/gpupool.sock");
    assertThat(options.kubeletSocket()).hasToString("/var/lib/kubelet/device-plugins/kubelet.sock");
    assertThat(options.resource()).isEqualTo("gpupool.io/gpu-percent");
    assertThat(options.maxSeats()).isEqualTo(20_000);
  }

  @Test
  void options_pathTooLongForASocketBeingMade_isRefusedAtOnce() {
    String longest = "n".repeat(107 - "/d/".length() - 10);
    assertThat(options(longest, 100, SECOND).socketName()).isEqualTo(longest);
    assertThatThrownBy(() -> options(longest + "n", 100, SECOND))
        .hasMessageContaining("at most 107 bytes");
  }

  @Test
  void options_tooFewSeatsOrNoTime_areRefused() {
    assertThatThrownBy(() -> options("s", 99, SECOND)).hasMessageContaining("99");
    assertThatThrownBy(() -> options("s", 100, Duration.ZERO)).hasMessageContaining("positive");
  }

  private static PluginOptions options(String socketName, int maxSeats, Duration lookEvery) {
    return new PluginOptions(
        "r", Path.of("/d"), socketName, maxSeats, Duration.ZERO, lookEvery, SECOND, WIRING);
  }
}
