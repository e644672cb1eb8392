// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class SessionRateLimiterTest {
  private final AtomicLong nowNanos = new AtomicLong();
  private final SessionRateLimiter rate = new SessionRateLimiter(2, nowNanos::get);

  @Test
  void take_fourSecondsWorth_areAllowedAtOnceAndThenTwoASecond() {
    assertThat(taken("vision", 10)).isEqualTo(8);
    pass(1000);
    assertThat(taken("vision", 10)).isEqualTo(2);
    pass(3999);
    assertThat(taken("vision", 10)).isEqualTo(7);
    assertThat(taken("audio", 10)).as("a bucket of its own").isEqualTo(8);
  }

  @Test
  void take_afterALongPause_bucketIsFullAndNotFuller() {
    assertThat(taken("vision", 8)).isEqualTo(8);
    pass(4000);
    assertThat(taken("vision", 10)).isEqualTo(8);
    pass(3_600_000);
    assertThat(taken("vision", 10)).isEqualTo(8);
  }

  private int taken(String tenant, int wanted) {
    int taken = 0;
    for (int i = 0; i < wanted; i++) {
      taken += rate.take(tenant) ? 1 : 0;
    }
    return taken;
  }

  private void pass(long millis) {
    nowNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
  }
}
