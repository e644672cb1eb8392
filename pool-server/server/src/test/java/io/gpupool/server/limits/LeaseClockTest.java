// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LeaseClockTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  @Test
  void over_noLimits_never() {
    LeaseClock clock = new LeaseClock(LeaseLimits.NONE, 0, 0);
    assertThat(clock.nextLookMillis(0)).isEmpty();
    assertThat(clock.over(1_000_000 * SECOND)).isEmpty();
  }

  @Test
  void over_timeLimit_countsFromTheGrantThoughTheServerRestarted() {
    LeaseClock clock = new LeaseClock(new LeaseLimits(0, 10_000), -8 * SECOND, 0);
    assertThat(clock.nextLookMillis(0)).hasValue(2000);
    assertThat(clock.over(SECOND)).isEmpty();
    assertThat(clock.over(2 * SECOND)).get().asString().contains("time limit of 10s");
  }

  @Test
  void over_idle_onlyWithoutAnythingDoneOrUnderWay() {
    LeaseClock clock = new LeaseClock(new LeaseLimits(8000, 0), 0, 0);
    assertThat(clock.nextLookMillis(0)).hasValue(1000);
    clock.note(1, false, 5 * SECOND);
    assertThat(clock.over(12 * SECOND)).isEmpty();
    clock.note(1, true, 12 * SECOND);
    clock.note(1, false, 15 * SECOND);
    assertThat(clock.idleMillis(15 * SECOND)).isEqualTo(3000);
    assertThat(clock.over(20 * SECOND)).get().asString().contains("idle for 8s");
  }
}
