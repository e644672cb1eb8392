// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.control.ManualTimers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResumptionTest {
  private final ManualTimers timers = new ManualTimers();
  private final List<String> ended = new ArrayList<>();

  @Test
  void lost_forLongerThanTheWindow_saysSinceWhenAndWhy() {
    Resumption resumption = new Resumption(30_000, timers);
    resumption.lost("connection reset", ended::add);
    timers.pass(30_000 + Resumption.WORKER_LIMIT_MILLIS);
    assertThat(ended)
        .containsExactly(
            "its connection was lost 30 s ago (connection reset) and did not come back within its"
                + " resume window of 30 s");
  }

  @Test
  void over_inTime_nothingEnds() {
    Resumption resumption = new Resumption(30_000, timers);
    resumption.lost("connection reset", ended::add);
    timers.pass(30_000 + Resumption.WORKER_LIMIT_MILLIS - 1);
    resumption.over();
    timers.pass(60_000);
    assertThat(ended).isEmpty();
    assertThat(resumption.millisLeft()).isEmpty();
  }

  @Test
  void isPossible_noWindow_isNot() {
    assertThat(new Resumption(0, timers).isPossible()).isFalse();
    assertThat(new Resumption(1, timers).isPossible()).isTrue();
  }
}
