// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PausesTest {
  private final Pauses pauses = new Pauses();

  @Test
  void grace_pausesOfAMillisecond_areOutlastedWithinAFewOfThem() {
    assertThat(pauses.graceNanos()).isEqualTo(Pauses.LEAST_NANOS);
    note(10, 1_000_000);
    assertThat(pauses.graceNanos()).isGreaterThan(1_500_000);
    note(50, 20_000);
    assertThat(pauses.graceNanos()).isEqualTo(Pauses.LEAST_NANOS);
  }

  @Test
  void grace_pausesTooLongToWaitFor_isTheLeast() {
    note(50, 10_000_000);
    assertThat(pauses.graceNanos()).isEqualTo(Pauses.LEAST_NANOS);
  }

  @Test
  void grace_oneLongPauseNowAndThen_doesNotChangeIt() {
    note(20, 200_000);
    long before = pauses.graceNanos();
    note(1, 3_000_000_000L);
    assertThat(pauses.graceNanos()).isEqualTo(before);
  }

  private void note(int times, long nanos) {
    for (int i = 0; i < times; i++) {
      pauses.note(nanos);
    }
  }
}
