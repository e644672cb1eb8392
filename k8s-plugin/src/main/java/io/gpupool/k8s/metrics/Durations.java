// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.metrics;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.concurrent.TimeUnit;

/** How long things have taken, as a histogram. */
public final class Durations implements Meter {
  private static final double[] BOUNDS_SECONDS = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5
  };

  private final String name;
  private final String help;
  private final long[] counts = new long[BOUNDS_SECONDS.length + 1];
  private double sumSeconds;

  public Durations(String name, String help) {
    this.name = name;
    this.help = help;
  }

  /** Another one. */
  public synchronized void add(long nanos) {
    double seconds = (double) nanos / TimeUnit.SECONDS.toNanos(1);
    int bucket = 0;
    while (bucket < BOUNDS_SECONDS.length && seconds > BOUNDS_SECONDS[bucket]) {
      bucket++;
    }
    counts[bucket]++;
    sumSeconds += seconds;
  }

  @Override
  public synchronized MetricSnapshot snapshot() {
    ClassicHistogramBuckets.Builder buckets = ClassicHistogramBuckets.builder();
    for (int i = 0; i < counts.length; i++) {
      buckets.bucket(
          i < BOUNDS_SECONDS.length ? BOUNDS_SECONDS[i] : Double.POSITIVE_INFINITY, counts[i]);
    }
    return HistogramSnapshot.builder()
        .name(name)
        .help(help)
        .dataPoint(
            HistogramDataPointSnapshot.builder()
                .classicHistogramBuckets(buckets.build())
                .sum(sumSeconds)
                .build())
        .build();
  }
}
