// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.transport.metrics.MeterPage;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServerMetricsTest {
  private final ServerMetrics metrics = new ServerMetrics();

  @Test
  void rows_ofTenants_areSeenByWhoMay() {
    metrics.add(Metric.LEASES_GRANTED, 2, "vision");
    metrics.add(Metric.LEASES_GRANTED, 1, "audio");
    metrics.add(Metric.LEASES_GRANTED, 1, "vision");
    metrics.add(Metric.WORKERS_STARTED, 4, "gpu-1");
    assertThat(metrics.rows("vision"::equals))
        .containsExactlyInAnyOrder(
            new MetricSample(Metric.LEASES_GRANTED, List.of("vision"), 3),
            new MetricSample(Metric.WORKERS_STARTED, List.of("gpu-1"), 4));
  }

  @Test
  void add_moreTenantsThanAreCountedApart_areCountedTogether() {
    for (int i = 0; i < ServerMetrics.MAX_ROWS + 500; i++) {
      metrics.add(Metric.LEASES_GRANTED, 1, "t" + i);
    }
    List<MetricSample> rows = metrics.rows(tenant -> true);
    assertThat(rows).hasSize(ServerMetrics.MAX_ROWS + 1);
    assertThat(rows)
        .contains(new MetricSample(Metric.LEASES_GRANTED, List.of(ServerMetrics.OTHER), 500));
  }

  @Test
  void waited_onABound_countsBelowIt() {
    MeterPage page = new MeterPage();
    metrics.measureIn(page.registry());
    metrics.waited(Duration.ofMillis(10));
    metrics.waited(Duration.ofMillis(11));
    metrics.waited(Duration.ofSeconds(100_000));
    assertThat(page.text(name -> true).lines())
        .contains(
            "gpupool_queue_wait_seconds_bucket{le=\"0.01\"} 1",
            "gpupool_queue_wait_seconds_bucket{le=\"0.1\"} 2",
            "gpupool_queue_wait_seconds_bucket{le=\"1.0\"} 2",
            "gpupool_queue_wait_seconds_bucket{le=\"3600.0\"} 2",
            "gpupool_queue_wait_seconds_bucket{le=\"+Inf\"} 3",
            "gpupool_queue_wait_seconds_sum 100000.021")
        .filteredOn(line -> line.startsWith("gpupool_queue_wait_seconds_bucket"))
        .hasSize(10);
  }

  @Test
  void copy_addedTo_leavesTheOriginal() {
    metrics.add(Metric.LEASES_GRANTED, 1, "vision");
    ServerMetrics copy = metrics.copy();
    copy.add(Metric.LEASES_GRANTED, 1, "vision");
    assertThat(metrics.rows(tenant -> true)).extracting(MetricSample::amount).containsExactly(1L);
  }

  @Test
  void add_otherLabelsThanTheCountHas_isRefused() {
    assertThatThrownBy(() -> metrics.add(Metric.LEASES_ENDED, 1, "vision"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("reason");
  }
}
