// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.metrics;

import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.OptionalDouble;
import java.util.function.Supplier;

/**
 * What is the case whenever someone asks.
 *
 * @param value empty: it is not known
 */
public record Gauge(String name, String help, Supplier<OptionalDouble> value) implements Meter {
  @Override
  public MetricSnapshot snapshot() {
    GaugeSnapshot.Builder snapshot = GaugeSnapshot.builder().name(name).help(help);
    value
        .get()
        .ifPresent(now -> snapshot.dataPoint(GaugeDataPointSnapshot.builder().value(now).build()));
    return snapshot.build();
  }
}
