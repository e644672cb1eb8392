// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a session is charged of a time in which others of its lease used the GPU as well. */
class MeasuredOverlapTest {
  private final MeasuredOverlap overlap = new MeasuredOverlap();

  @Test
  void measuredTime_alone_isTheSessionsOwn() {
    assertThat(overlap.partOf(900)).isEqualTo(900);
    overlap.look(0);
    assertThat(overlap.partOf(900)).isEqualTo(900);
  }

  @Test
  void measuredTime_inCompanyForHalfOfIt_isSharedForHalfOfIt() {
    overlap.look(2);
    overlap.look(0);
    assertThat(overlap.partOf(900)).isEqualTo(600);
  }

  @Test
  void looksBeforeTheLastMeasurement_haveNoPartInTheNext() {
    overlap.look(2);
    assertThat(overlap.partOf(900)).isEqualTo(300);
    overlap.look(0);
    assertThat(overlap.partOf(900)).isEqualTo(900);
  }
}
