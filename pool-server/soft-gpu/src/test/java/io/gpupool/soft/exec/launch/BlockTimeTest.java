// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BlockTimeTest {
  private final BlockTime time = new BlockTime();

  @Test
  void kernel_thatNeverRan_isTakenForLong() {
    assertThat(time.isShort(2)).isFalse();
  }

  @Test
  void kernel_whoseBlocksWereShort_isShortWithAFewOfThemOnly() {
    time.ran(4, 4_000);

    assertThat(time.isShort(4)).isTrue();
    assertThat(time.isShort(29)).isTrue();
    assertThat(time.isShort(31)).isFalse();
    assertThat(time.isShort(Long.MAX_VALUE / 2)).isFalse();
  }

  @Test
  void kernel_whoseBlocksTookLonger_isLongAgain() {
    time.ran(4, 4_000);
    time.ran(2, 2 * BlockTime.WAKING_NANOS);

    assertThat(time.isShort(1)).isFalse();
  }
}
