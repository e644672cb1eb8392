// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class DeviceSpecTest {
  private static final long HOST_BYTES = 24L << 30;

  @ParameterizedTest
  @CsvSource({
    "'soft', 1, 8589934592, 90",
    "'soft:3', 3, 4294967296, 90",
    "'soft:2,mem=8Gi', 2, 8589934592, 90",
    "'soft:1,mem=1000M,cc=7.5', 1, 1000000000, 75",
    "'soft:1,cc=12.0,mem=512MiB', 1, 536870912, 120",
    "'soft:1,cc=13.0,mem=512MiB', 1, 536870912, 130",
    "'soft:1,mem=33554432', 1, 33554432, 90",
  })
  void parse_writtenForm_isUnderstood(String text, int devices, long bytes, int capability) {
    assertThat(DeviceSpec.parse(text, HOST_BYTES))
        .isEqualTo(new DeviceSpec(devices, bytes, capability));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "hard:1",
        "soft:",
        "soft:0",
        "soft:33",
        "soft:x",
        "soft:1,mem=",
        "soft:1,mem=8Qi",
        "soft:1,mem=1",
        "soft:1,mem=999999999999999Ti",
        "soft:1,cc=9",
        "soft:1,cc=1.0",
        "soft:1,a=b",
        "soft:1,"
      })
  void parse_other_isRefused(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DeviceSpec.parse(text, HOST_BYTES))
        .withMessageMatching(".{20,}");
  }

  @Test
  void parse_smallHost_givesHalfOfIt() {
    assertThat(DeviceSpec.parse("soft", 4L << 30).memoryBytes()).isEqualTo(2L << 30);
    assertThat(DeviceSpec.parse("soft:4", 1L << 30).memoryBytes()).isEqualTo(256L << 20);
  }
}
