// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.limits.LeaseLimits;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class GraceReasonTest {
  @ParameterizedTest
  @CsvSource({
    "HOLDER_LEFT, 1000, 1000",
    "HOLDER_LOST, 1000, 60000",
    "NOT_RENEWED, 1000, 1000",
    "SERVER_RESTARTED, 10000, 60000",
    "HOLDERS_SERVER_GONE, 10000, 60000",
    "NEVER_HELD, 10000, 60000"
  })
  void period_isTheResumeWindowWhereTheConnectionBroke(
      GraceReason reason, long withoutWindow, long withWindow) {
    assertThat(reason.millis(new LeaseLimits(0, 0, 0, 0))).isEqualTo(withoutWindow);
    assertThat(reason.millis(new LeaseLimits(0, 0, 0, 500))).isEqualTo(withoutWindow);
    assertThat(reason.millis(new LeaseLimits(0, 0, 0, 60_000))).isEqualTo(withWindow);
  }

  @ParameterizedTest
  @EnumSource
  void period_isTheOneThatWasAskedForIfThatIsLonger(GraceReason reason) {
    assertThat(reason.millis(new LeaseLimits(0, 0, 90_000, 60_000))).isEqualTo(90_000);
  }
}
