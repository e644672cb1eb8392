// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How long a session's thread looks for input before it sleeps. */
class SpinTest {
  private static final long SPIN_NANOS = 50_000;
  private static final long TURN_NANOS = 1_000;
  private static final long LOST_SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);
  private static final long REST_NANOS = 4 * LOST_SLICE_NANOS;

  private final Spin spin = new Spin(SPIN_NANOS);
  private long now = System.nanoTime();

  @Test
  void shortTurns_lastUntilTheDeadline() {
    assertThat(turns(TURN_NANOS)).isEqualTo(SPIN_NANOS / TURN_NANOS);
    assertThat(turns(TURN_NANOS)).isEqualTo(SPIN_NANOS / TURN_NANOS);
  }

  @Test
  void turnThatLostTheProcessor_endsSpinningForAWhile() {
    assertThat(turns(LOST_SLICE_NANOS)).isEqualTo(1);
    now += REST_NANOS - 1;
    assertThat(turns(TURN_NANOS)).isZero();
    now += 1;
    assertThat(turns(TURN_NANOS)).isEqualTo(SPIN_NANOS / TURN_NANOS);
  }

  @Test
  void processorThatIsLostAgainAndAgain_isTriedLessAndLess() {
    for (int times = 4; times <= 64; times *= 2) {
      assertThat(turns(LOST_SLICE_NANOS)).isEqualTo(1);
      now += times * LOST_SLICE_NANOS - 1;
      assertThat(turns(TURN_NANOS)).as("after %d times as long", times).isZero();
      now += 1;
    }
    assertThat(turns(LOST_SLICE_NANOS)).isEqualTo(1);
    now += TimeUnit.MILLISECONDS.toNanos(250);
    assertThat(turns(TURN_NANOS)).as("at most a quarter of a second").isPositive();
  }

  @Test
  void processorThatIsKept_isSoonTriedAsBefore() {
    for (int i = 0; i < 5; i++) {
      assertThat(turns(LOST_SLICE_NANOS)).isEqualTo(1);
      now += TimeUnit.SECONDS.toNanos(1);
    }
    for (int i = 0; i < 10; i++) {
      assertThat(turns(TURN_NANOS)).isPositive();
    }
    assertThat(turns(LOST_SLICE_NANOS)).isEqualTo(1);
    now += REST_NANOS;
    assertThat(turns(TURN_NANOS)).isPositive();
  }

  /** Spins with turns of that length; returns how many there were. */
  private int turns(long turnNanos) {
    int turns = 0;
    for (spin.begin(now); spin.goesOn(); spin.turned(now)) {
      now += turnNanos;
      turns++;
    }
    return turns;
  }
}
