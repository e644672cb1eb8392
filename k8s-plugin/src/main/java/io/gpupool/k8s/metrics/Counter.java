// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.metrics;

import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts, apart for each combination of labels. */
public final class Counter implements Meter {
  private final String name;
  private final String help;
  private final List<String> labels;
  private final Map<List<String>, LongAdder> counts = new ConcurrentHashMap<>();

  /**
   * Nothing is counted yet.
   *
   * @param name without "_total"
   */
  public Counter(String name, String help, String... labels) {
    this.name = name;
    this.help = help;
    this.labels = List.of(labels);
  }

  /** One more of those with these values of the labels. */
  public void count(String... values) {
    if (values.length != labels.size()) {
      throw new IllegalArgumentException(name + " has the labels " + labels);
    }
    counts.computeIfAbsent(List.of(values), key -> new LongAdder()).increment();
  }

  @Override
  public MetricSnapshot snapshot() {
    CounterSnapshot.Builder snapshot = CounterSnapshot.builder().name(name).help(help);
    counts.forEach((values, count) ->
        snapshot.dataPoint(
            CounterDataPointSnapshot.builder()
                .labels(Labels.of(labels, values))
                .value(count.sum())
                .build()));
    return snapshot.build();
  }
}
