// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class ServerMetricsTest {
  private final ServerMetrics tally = new ServerMetrics();

  @Test
  void rows_ofTenants_areSeenByWhoMay() {
    tally.add(Metric.LEASES_GRANTED, 2, "vision");
    tally.add(Metric.LEASES_GRANTED, 1, "audio");
    tally.add(Metric.LEASES_GRANTED, 1, "vision");
    tally.add(Metric.WORKERS_STARTED, 4, "gpu-1");
    assertThat(tally.rows("vision"::equals))
        .containsExactlyInAnyOrder(
            new MetricSample(Metric.LEASES_GRANTED, List.of("vision"), 3),
            new MetricSample(Metric.WORKERS_STARTED, List.of("gpu-1"), 4));
  }

  @Test
  void add_moreTenantsThanAreCountedApart_areCountedTogether() {
    for (int i = 0; i < ServerMetrics.MAX_ROWS + 500; i++) {
      tally.add(Metric.LEASES_GRANTED, 1, "t" + i);
    }
    List<MetricSample> rows = tally.rows(tenant -> true);
    assertThat(rows).hasSize(ServerMetrics.MAX_ROWS + 1);
    assertThat(rows)
        .contains(new MetricSample(Metric.LEASES_GRANTED, List.of(ServerMetrics.OTHER), 500));
  }

  @Test
  void waited_onABound_countsBelowIt() {
    tally.waited(0.01);
    tally.waited(0.011);
    tally.waited(100_000);
    assertThat(tally.waits().counts()).containsExactly(1L, 1L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 1L);
    assertThat(tally.waits().sumSeconds()).isEqualTo(100_000.021);
  }

  @Test
  void copy_addedTo_leavesTheOriginal() {
    tally.add(Metric.LEASES_GRANTED, 1, "vision");
    ServerMetrics copy = tally.copy();
    copy.add(Metric.LEASES_GRANTED, 1, "vision");
    assertThat(tally.rows(tenant -> true)).extracting(MetricSample::amount).containsExactly(1L);
  }

  @Test
  void add_otherLabelsThanTheCountHas_isRefused() {
    assertThatThrownBy(() -> tally.add(Metric.LEASES_ENDED, 1, "vision"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("reason");
  }
}
