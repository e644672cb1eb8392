// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EventLimitTest {
  private long nowNanos;
  private final EventLimit limit = new EventLimit(() -> nowNanos);

  @Test
  void event_sameOfTheSamePod_isAdmittedOncePerPeriod() {
    assertThat(limit.admits("pod", "ClaimRefused", "text")).isTrue();
    nowNanos += EventLimit.PERIOD.toNanos() - 1;
    assertThat(limit.admits("pod", "ClaimRefused", "text")).isFalse();
    nowNanos++;
    assertThat(limit.admits("pod", "ClaimRefused", "text")).isTrue();
    assertThat(limit.admits("pod", "ClaimRefused", "text")).isFalse();
  }

  @Test
  void event_another_isAdmittedAtOnce() {
    assertThat(limit.admits("pod", "ClaimRefused", "text")).isTrue();
    assertThat(limit.admits("other", "ClaimRefused", "text")).isTrue();
    assertThat(limit.admits("pod", "LeaseRefused", "text")).isTrue();
    assertThat(limit.admits("pod", "ClaimRefused", "another text")).isTrue();
  }
}
