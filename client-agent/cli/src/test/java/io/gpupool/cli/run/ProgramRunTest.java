// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Grant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProgramRunTest {
  private static final Grant SOFTWARE = Grant.newBuilder().setBackend("soft").build();
  private static final Grant CARD = Grant.newBuilder().setBackend("nvidia").build();
  private static final Grant UNTOLD = Grant.getDefaultInstance();

  @Test
  void areSoftware_softwareGpusAlone_isTrue() {
    assertThat(ProgramRun.areSoftware(List.of(SOFTWARE, SOFTWARE))).isTrue();
  }

  @Test
  void areSoftware_anyOtherGpuOrNone_isFalse() {
    assertThat(ProgramRun.areSoftware(List.of(CARD))).isFalse();
    assertThat(ProgramRun.areSoftware(List.of(SOFTWARE, CARD))).isFalse();
    assertThat(ProgramRun.areSoftware(List.of(SOFTWARE, UNTOLD))).isFalse();
    assertThat(ProgramRun.areSoftware(List.of())).isFalse();
  }

  @Test
  void areConnected_everyServerCarriesOutCollectives_isTrue() {
    Grant connected = CARD.toBuilder().setCollectives(true).build();
    assertThat(ProgramRun.areConnected(List.of(connected, connected))).isTrue();
    assertThat(ProgramRun.areConnected(List.of(connected, CARD))).isFalse();
    assertThat(ProgramRun.areConnected(List.of())).isFalse();
  }
}
