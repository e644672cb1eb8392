// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.server.tally.Metric;
import io.gpupool.server.tally.MetricSample;
import io.gpupool.server.tally.WaitHistogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Metrics in the making, and their text. They are taken from the pool's own figures whenever
 * someone asks, so there is no registry of live meters: of Prometheus's library only its model and
 * its text format are used.
 */
final class MetricPage {
  static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private final MetricSnapshots.Builder metrics = MetricSnapshots.builder();

  void gauge(String name, String help, double value) {
    gauge(name, help, Map.of(Labels.EMPTY, value));
  }

  void gauge(String name, String help, Map<Labels, Double> values) {
    GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(name).help(help);
    values.forEach((labels, value) ->
        gauge.dataPoint(GaugeDataPointSnapshot.builder().labels(labels).value(value).build()));
    metrics.metricSnapshot(gauge.build());
  }

  void counter(Metric count, List<MetricSample> rows) {
    CounterSnapshot.Builder counter =
        CounterSnapshot.builder().name(count.metric()).help(count.help());
    for (MetricSample row : rows) {
      if (row.count() == count) {
        counter.dataPoint(
            CounterDataPointSnapshot.builder()
                .labels(Labels.of(count.labels(), row.labels()))
                .value(count.inUnit(row.amount()))
                .build());
      }
    }
    metrics.metricSnapshot(counter.build());
  }

  void histogram(String name, String help, WaitHistogram waits) {
    ClassicHistogramBuckets.Builder buckets = ClassicHistogramBuckets.builder();
    for (int i = 0; i < waits.counts().size(); i++) {
      buckets.bucket(
          i < WaitHistogram.BOUNDS_SECONDS.size()
              ? WaitHistogram.BOUNDS_SECONDS.get(i)
              : Double.POSITIVE_INFINITY,
          waits.counts().get(i));
    }
    metrics.metricSnapshot(
        HistogramSnapshot.builder()
            .name(name)
            .help(help)
            .dataPoint(
                HistogramDataPointSnapshot.builder()
                    .classicHistogramBuckets(buckets.build())
                    .sum(waits.sumSeconds())
                    .build())
            .build());
  }

  String text() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      PrometheusTextFormatWriter.create().write(out, metrics.build());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toString(StandardCharsets.UTF_8);
  }
}
