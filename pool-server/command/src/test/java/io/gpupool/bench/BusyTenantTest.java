// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.gpupool.bench.BusyTenant.Plan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BusyTenantTest {
  @ParameterizedTest
  @CsvSource({
    "70, 70, kernels, 0, 1, false, false",
    "12.5:flood, 12.5, flood, 0, 1, false, false",
    "30:hard, 30, kernels, 0, 1, true, false",
    "30:eager=50us, 30, eager, 50000, 1, false, false",
    "30:each=200ms:hard, 30, each, 200000000, 1, true, false",
    "70:queue=900ns*3, 70, queue, 900, 3, false, false",
    "70*16:hard, 70, kernels, 0, 16, true, false",
    "20:serve=1ms:latency, 20, serve, 1000000, 1, false, true",
    "20:hard:latency, 20, kernels, 0, 1, true, true",
  })
  void plan_asWritten_isRead(
      String text,
      double percent,
      String load,
      long nanos,
      int processes,
      boolean hard,
      boolean latency) {
    assertThat(Plan.parse(text))
        .isEqualTo(new Plan(percent, load, nanos, processes, hard, latency));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "x",
        "1000",
        "30:eager=50",
        "30:eager=50h",
        "30:*3",
        "30*0",
        "30*17",
        "30:hard:x",
        "30:latency:hard"
      })
  void plan_thatIsNone_isRefusedWithAnExample(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Plan.parse(text))
        .withMessageContaining("70:eager=50us*3");
  }

  @Test
  void load_described_isAsWritten() {
    assertThat(Plan.parse("30:graph=50us*2").described()).isEqualTo("graph=50us*2");
    assertThat(Plan.parse("30:each=200ms").described()).isEqualTo("each=200ms");
    assertThat(Plan.parse("30:queue=10ns").described()).isEqualTo("queue=10ns");
    assertThat(Plan.parse("30").described()).isEqualTo("kernels");
  }
}
