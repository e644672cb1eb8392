// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.work.ValueWait;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ValueWaitTest {
  @ParameterizedTest
  @CsvSource({
    "0, 5, 5, true",
    "0, 5, 4, false",
    "0, 5, 6, true",
    "0, 0xffffffff, 1, true",
    "0, 1, 0xffffffff, false",
    "0, 0x7fffffff, 0x80000000, true",
    "1, 5, 5, true",
    "1, 5, 6, false",
    "2, 6, 2, true",
    "2, 6, 1, false",
    "2, 0, 0xffffffff, false",
    "3, 0, 0xffffffff, false",
    "3, 0, 0xfffffffe, true",
    "3, 1, 0xfffffffe, false",
  })
  void condition_on32Bits_isAsCudaHasIt(int flags, String value, String memory, boolean reached) {
    ValueWait wait = ValueWait.of(flags, Long.decode(value), false);

    assertThat(wait.isReached(Long.decode(memory))).isEqualTo(reached);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 5, 0x100000000, true", "0, -1, 0, true", "0, 0, -1, false",
    "1, 0x100000001, 1, false", "2, 0x100000000, 0x100000000, true", "3, 0, -1, false",
  })
  void condition_on64Bits_isAsCudaHasIt(int flags, String value, String memory, boolean reached) {
    ValueWait wait = ValueWait.of(flags, Long.decode(value), true);

    assertThat(wait.isReached(Long.decode(memory))).isEqualTo(reached);
  }

  @ParameterizedTest
  @ValueSource(ints = {4, -1, 1 << 29})
  void flags_thatAreNone_areInvalid(int flags) {
    assertThatThrownBy(() -> ValueWait.of(flags, 0, false))
        .isInstanceOfSatisfying(
            GpuException.class,
            failure -> assertThat(failure.status()).isEqualTo(CudaStatus.INVALID_VALUE));
  }
}
