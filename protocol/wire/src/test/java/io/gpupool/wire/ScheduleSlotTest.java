// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScheduleSlotTest {
  @Test
  void place_writtenAndRead_isTheSame() throws WireException {
    ScheduleSlot place = new ScheduleSlot(2064, 127, 63);
    assertThat(ScheduleSlot.parse(place.toString())).isEqualTo(place);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "1:2", "1:2:3:4", "1:2:x", "-1:2:3", "65536:0:0", "0:128:0", "0:0:64"})
  void text_thatIsNoPlace_isRefused(String text) {
    assertThatThrownBy(() -> ScheduleSlot.parse(text))
        .isInstanceOf(WireException.class)
        .hasMessage("not a slot of a GPU schedule (page:entry:session): " + text);
  }
}
