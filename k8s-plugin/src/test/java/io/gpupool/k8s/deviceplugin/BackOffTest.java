// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackOffTest {
  private final BackOff backOff = new BackOff(Duration.ofNanos(10), Duration.ofNanos(25));

  @Test
  void isDue_neverTried_atOnce() {
    assertThat(backOff.isDue(Long.MIN_VALUE)).isTrue();
  }

  @Test
  void isDue_triedAgainAndAgain_afterDoubleTheTimeUpToTheLongest() {
    backOff.tried(0);
    assertThat(backOff.isDue(9)).isFalse();
    assertThat(backOff.isDue(10)).isTrue();
    backOff.tried(10);
    assertThat(backOff.isDue(29)).isFalse();
    assertThat(backOff.isDue(30)).isTrue();
    backOff.tried(30);
    assertThat(backOff.isDue(54)).isFalse();
    assertThat(backOff.isDue(55)).isTrue();
  }

  @Test
  void reset_afterFailures_isDueAtOnceAndStartsAnew() {
    backOff.tried(0);
    backOff.tried(10);
    backOff.reset();
    assertThat(backOff.isDue(11)).isTrue();
    backOff.tried(11);
    assertThat(backOff.isDue(21)).isTrue();
  }
}
