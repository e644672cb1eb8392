// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BackOffTest {
  private final BackOff backOff = BackOff.exact(Duration.ofNanos(10), Duration.ofNanos(25));

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

  @Test
  void next_exact_doublesUpToTheLongest() {
    assertThat(backOff.current()).isEqualTo(Duration.ofNanos(10));
    assertThat(backOff.next()).isEqualTo(Duration.ofNanos(10));
    assertThat(backOff.next()).isEqualTo(Duration.ofNanos(20));
    assertThat(backOff.next()).isEqualTo(Duration.ofNanos(25));
    assertThat(backOff.next()).isEqualTo(Duration.ofNanos(25));
    backOff.reset();
    assertThat(backOff.next()).isEqualTo(Duration.ofNanos(10));
  }

  @Test
  void next_jittered_isBetweenHalfOfThePauseAndAllOfIt() {
    BackOff jittered =
        BackOff.jittered(Duration.ofSeconds(1), Duration.ofSeconds(4), new Random(1));
    for (long seconds : new long[] {1, 2, 4, 4, 4}) {
      assertThat(jittered.next())
          .isBetween(Duration.ofMillis(seconds * 500), Duration.ofSeconds(seconds));
    }
  }

  @Test
  void pause_firstLongerThanTheLongest_isTheFirst() {
    BackOff fixed = BackOff.exact(Duration.ofSeconds(5), Duration.ofSeconds(1));
    assertThat(fixed.next()).isEqualTo(Duration.ofSeconds(5));
    assertThat(fixed.next()).isEqualTo(Duration.ofSeconds(5));
  }
}
