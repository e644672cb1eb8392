// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CudaResultTest {
  @ParameterizedTest
  @EnumSource
  void code_ofTheSoftwareGpu_isTheContracts(CudaStatus status) throws ReflectiveOperationException {
    assertThat(CudaResult.class.getField(status.name()).getInt(null)).isEqualTo(status.code());
  }

  @Test
  void isSticky_ofFaultsOnTheDevice_isTrue() {
    assertThat(CudaResult.isSticky(CudaResult.ILLEGAL_ADDRESS)).isTrue();
    assertThat(CudaResult.isSticky(CudaResult.OUT_OF_MEMORY)).isFalse();
  }
}
