// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.spec.ComputeLimits;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SoftDeviceTest {
  private final SoftGpu gpu = TestGpu.create();

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void identity_twoDevices_differsAndStays() {
    SoftDevice one = gpu.device(0);
    SoftDevice other = gpu.device(1);

    assertThat(one.name()).startsWith("gpupool software GPU (").hasSizeLessThan(256);
    assertThat(one.uuid()).isNotEqualTo(other.uuid());
    assertThat(one.pciBusId()).isEqualTo("FFFF:00:00.0");
    assertThat(other.pciBusId()).isEqualTo("FFFF:01:00.0");
    try (SoftGpu again = TestGpu.create()) {
      assertThat(again.device(0).uuid()).isEqualTo(one.uuid());
    }
    assertStatus(() -> gpu.device(2), CudaStatus.INVALID_DEVICE);
    assertStatus(() -> gpu.device(-1), CudaStatus.INVALID_DEVICE);
  }

  @ParameterizedTest
  @ValueSource(ints = {75, 80, 86, 89, 90, 100, 120})
  void attributes_anyCapability_areConsistent(int capability) {
    ComputeLimits limits = ComputeLimits.of(capability);
    int[] attributes = DeviceAttributes.of(limits, 2, 1);

    assertThat(attributes[75] * 10 + attributes[76]).isEqualTo(capability);
    assertThat(attributes[8]).as("shared a block").isLessThanOrEqualTo(attributes[97]);
    assertThat(attributes[97] + attributes[111])
        .as("opt-in and reserved")
        .isEqualTo(attributes[81]);
    assertThat(attributes[39] % attributes[10]).as("whole warps").isZero();
    assertThat(attributes[39]).isGreaterThanOrEqualTo(attributes[1]);
    assertThat(attributes[82]).isGreaterThanOrEqualTo(attributes[12]);
    assertThat(attributes[16]).isEqualTo(2);
    assertThat(attributes[1]).isEqualTo(1024);
    assertThat(attributes[10]).isEqualTo(32);
    assertThat(attributes[41]).as("unified addressing").isEqualTo(1);
    assertThat(attributes[115]).as("memory pools").isEqualTo(1);
    assertThat(attributes[83]).as("managed memory").isEqualTo(1);
    assertThat(attributes[19]).as("mapped host memory").isEqualTo(1);
  }

  @Test
  void attribute_outOfRange_isInvalid() {
    SoftDevice device = gpu.device(0);

    assertStatus(() -> device.attribute(0), CudaStatus.INVALID_VALUE);
    assertStatus(() -> device.attribute(148), CudaStatus.INVALID_VALUE);
    assertStatus(() -> device.attribute(-1), CudaStatus.INVALID_VALUE);
    assertThat(device.attribute(16)).isEqualTo(Runtime.getRuntime().availableProcessors());
  }
}
