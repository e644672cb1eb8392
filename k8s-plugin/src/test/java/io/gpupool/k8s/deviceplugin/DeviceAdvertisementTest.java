// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeviceAdvertisementTest {
  private static final @Nullable Integer LOST = null;

  private final DeviceAdvertisement plan = new DeviceAdvertisement(250, 10);

  @Test
  void seats_poolWasNeverKnown_areNoneHoweverLong() {
    assertThat(plan.update(LOST, 0)).isFalse();
    assertThat(plan.update(LOST, 1000)).isFalse();
    assertThat(plan.seats()).isEqualTo(DeviceList.NONE);
  }

  @Test
  void seats_poolIsLost_stayHealthyUntilPatienceEnds() {
    plan.update(2, 0);
    assertThat(plan.update(LOST, 5)).isFalse();
    assertThat(plan.update(LOST, 14)).isFalse();
    assertThat(plan.update(LOST, 15)).isTrue();
    assertThat(plan.seats()).isEqualTo(new DeviceList(200, false));
    assertThat(plan.update(LOST, 16)).isFalse();
  }

  @Test
  void seats_poolIsLostTwiceForLessThanPatience_stayHealthy() {
    plan.update(2, 0);
    plan.update(LOST, 5);
    plan.update(2, 14);
    plan.update(LOST, 15);
    assertThat(plan.update(LOST, 24)).isFalse();
    assertThat(plan.seats()).isEqualTo(new DeviceList(200, true));
  }

  @Test
  void seats_clockPassesItsHighestNumber_patienceIsTheSame() {
    plan.update(1, Long.MAX_VALUE - 5);
    plan.update(LOST, Long.MAX_VALUE - 4);
    assertThat(plan.update(LOST, Long.MIN_VALUE)).isFalse();
    assertThat(plan.update(LOST, Long.MIN_VALUE + 5)).isTrue();
  }

  @Test
  void seats_poolHasMoreThanAreAllowed_areThoseAllowed() {
    plan.update(Integer.MAX_VALUE, 0);
    assertThat(plan.seats()).isEqualTo(new DeviceList(250, true));
  }

  @Test
  void objection_seatHasJustGone_none() {
    plan.update(2, 0);
    plan.update(1, 1);
    assertThat(plan.objection(List.of("gpupool-150"))).isEmpty();
  }

  @Test
  void objection_noSeatYet_saysThatThePoolHasNotAnswered() {
    assertThat(plan.objection(List.of("gpupool-0")))
        .hasValueSatisfying(text -> assertThat(text).contains("'gpupool-0'", "not answered"));
  }

  @Test
  void objection_anotherSpellingOfASeat_saysThatItIsNone() {
    plan.update(2, 0);
    for (String id :
        List.of(
            "gpupool-00",
            "gpupool-",
            "gpupool-+1",
            "gpupool--1",
            "gpupool-1 ",
            "1",
            "",
            "gpupool-4294967296",
            "GPUPOOL-1")) {
      assertThat(plan.objection(List.of(id))).as(id).isPresent();
    }
  }

  @Test
  void objection_noneOrTheSameTwice_saysSo() {
    plan.update(2, 0);
    assertThat(plan.objection(List.of()))
        .hasValueSatisfying(text -> assertThat(text).contains("no device"));
    assertThat(plan.objection(List.of("gpupool-1", "gpupool-1")))
        .hasValueSatisfying(text -> assertThat(text).contains("'gpupool-1' is named twice"));
  }
}
