// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * How long a session's thread looks for input before it sleeps, and when it yields its processor.
 */
class SpinTest {
  private static final long SPIN_NANOS = 50_000;
  private static final long LOOK_NANOS = 1_000;
  private static final int ALL_LOOKS = (int) (SPIN_NANOS / LOOK_NANOS);
  private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);
  private static final long MOST_KEEPS_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
  private static final long SLEEPS_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final Spin spin = new Spin(SPIN_NANOS);
  private long now = System.nanoTime();

  @Test
  void spin_lastsUntilItFindsInput_orUntilItsDeadline() {
    findInput();
    assertThat(looksInVain()).isEqualTo(ALL_LOOKS);
    assertThat(looksInVain()).isEqualTo(ALL_LOOKS);
    assertThat(spin.yields()).isTrue();
  }

  @Test
  void pauseThatLostTheProcessor_endsYieldingForAWhile() {
    loseProcessor();
    now += 4 * SLICE_NANOS - 3 * LOOK_NANOS - 1;
    findInput();
    assertThat(spin.yields()).isFalse();
    now += 1;
    findInput();
    assertThat(spin.yields()).isTrue();
  }

  @Test
  void processorThatIsLostAgainAndAgain_isYieldedLessAndLess() {
    for (int times = 4; times <= 64; times *= 2) {
      loseProcessor();
      now += times * SLICE_NANOS - 3 * LOOK_NANOS - 1;
      findInput();
      assertThat(spin.yields()).as("after %d times as long", times).isFalse();
      now += 1;
    }
    loseProcessor();
    now += MOST_KEEPS_NANOS;
    findInput();
    assertThat(spin.yields()).as("at most a quarter of a second").isTrue();
  }

  @Test
  void processorThatIsNotLostAnyMore_isSoonYieldedAsBefore() {
    keepProcessorForLong();
    now += MOST_KEEPS_NANOS;
    for (int i = 0; i < 10; i++) {
      assertThat(looksInVain()).isEqualTo(ALL_LOOKS);
    }
    loseProcessor();
    now += 4 * SLICE_NANOS;
    findInput();
    assertThat(spin.yields()).isTrue();
  }

  @Test
  void keptProcessorInVain_endsInSleepForAWhile() {
    keepProcessorForLong();
    failUntilSleep(4);
    for (int i = 0; i < 10; i++) {
      now += SLEEPS_NANOS - 1;
      assertThat(looksInVain()).isZero();
      now += 1;
      failUntilSleep(1);
    }
  }

  @Test
  void inputAfterASleep_makesUpForFailures() {
    keepProcessorForLong();
    failUntilSleep(4);
    now += SLEEPS_NANOS;
    for (int i = 0; i < 3; i++) {
      findInput();
    }
    failUntilSleep(4);
  }

  @Test
  void spinsThatFindInputAsOftenAsNot_goOn() {
    keepProcessorForLong();
    for (int i = 0; i < 100; i++) {
      assertThat(looksInVain()).isEqualTo(ALL_LOOKS);
      findInput();
    }
  }

  private void loseProcessor() {
    assertThat(spinUntil(SLICE_NANOS, -1)).isEqualTo(1);
    assertThat(spin.yields()).isTrue();
  }

  /** Loses the processor so often that spins keep it for a quarter of a second. */
  private void keepProcessorForLong() {
    for (int i = 0; i < 10; i++) {
      loseProcessor();
      now += MOST_KEEPS_NANOS;
    }
    loseProcessor();
  }

  private void failUntilSleep(int failures) {
    for (int i = 0; i < failures; i++) {
      assertThat(looksInVain()).isEqualTo(ALL_LOOKS);
    }
    assertThat(looksInVain()).isZero();
  }

  private int looksInVain() {
    return spinUntil(LOOK_NANOS, -1);
  }

  private void findInput() {
    assertThat(spinUntil(LOOK_NANOS, 3)).isEqualTo(3);
  }

  /** Spins until it ends or has looked so often; returns how many times it looked. */
  private int spinUntil(long pauseNanos, int found) {
    int looks = 0;
    for (spin.begin(now); spin.goesOn() && looks != found; spin.paused(now)) {
      now += pauseNanos;
      looks++;
    }
    spin.end(looks == found);
    return looks;
  }
}
