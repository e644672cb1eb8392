// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GpuConditionTest {
  private static final long START = 1_700_000_000_000L;
  private static final long MINUTE = 60_000;

  private final GpuCondition condition = new GpuCondition();

  @ParameterizedTest
  @ValueSource(ints = {13, 31, 43, 45, 63, 68, 109})
  void fault_ofAProgramOrForTheRecord_changesNothing(int xid) {
    condition.fault(xid, START);

    assertThat(condition.problem()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 48, 62, 74, 79, 95, 119, 999})
  void fault_ofTheGpuOrUnknown_isAProblemUntilATrialIsPassed(int xid) {
    condition.fault(xid, START);

    assertThat(condition.problem()).isPresent();
    assertThat(condition.isToBeTried(START + MINUTE - 1)).isFalse();
    assertThat(condition.isToBeTried(START + MINUTE)).isTrue();
    condition.passed(START + MINUTE);
    assertThat(condition.problem()).isEmpty();
    assertThat(condition.isToBeTried(START + 2 * MINUTE)).isFalse();
  }

  @Test
  void fault_duringTheRest_prolongsIt() {
    condition.fault(79, START);
    condition.fault(48, START + MINUTE - 1);

    assertThat(condition.problem()).hasValue("XID 48: double-bit error of memory");
    assertThat(condition.isToBeTried(START + MINUTE)).isFalse();
    assertThat(condition.isToBeTried(START + 2 * MINUTE)).isTrue();
  }

  @Test
  void fault_soonAfterRecovery_restsTwiceAsLongEachTimeUpToAnHour() {
    long now = START;
    long rest = MINUTE;
    for (int relapse = 0; relapse < 10; relapse++) {
      condition.fault(79, now);
      assertThat(condition.isToBeTried(now + rest - 1)).as("relapse %d", relapse).isFalse();
      assertThat(condition.isToBeTried(now + rest)).as("relapse %d", relapse).isTrue();
      now += rest;
      condition.passed(now);
      now += MINUTE;
      rest = Math.min(60 * MINUTE, 2 * rest);
    }

    now += 60 * MINUTE;
    condition.fault(79, now);
    assertThat(condition.isToBeTried(now + MINUTE)).as("after a good hour").isTrue();
  }

  @Test
  void trial_failed_isTheProblemAndRestsLonger() {
    condition.fault(79, START);
    condition.failedTrial("a trial failed: no", START + MINUTE);

    assertThat(condition.problem()).hasValue("a trial failed: no");
    assertThat(condition.isToBeTried(START + 3 * MINUTE - 1)).isFalse();
    assertThat(condition.isToBeTried(START + 3 * MINUTE)).isTrue();
  }

  @Test
  void told_rowsToBeRemapped_isAProblemForAsLongAsItIsTold() {
    for (int second = 0; second < 600; second++) {
      condition.told("row-remap-pending", START + 1000L * second);
      assertThat(condition.isToBeTried(START + 1000L * second)).isFalse();
    }
    assertThat(condition.problem())
        .hasValue("rows of its memory are to be remapped; reset the GPU");

    condition.told("ok", START + 600_000);
    assertThat(condition.isToBeTried(START + 600_000)).isTrue();
  }
}
