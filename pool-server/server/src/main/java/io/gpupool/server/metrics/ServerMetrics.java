// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.metrics;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The counters of a server since its start. Names that callers give are counted separately up to a
 * limit, and those beyond it together. Owned by the control thread.
 */
public final class ServerMetrics {
  static final int MAX_ROWS = 1000;
  static final String OTHER = "other";
  private static final Duration[] WAIT_BOUNDS = {
    Duration.ofMillis(10),
    Duration.ofMillis(100),
    Duration.ofSeconds(1),
    Duration.ofSeconds(5),
    Duration.ofSeconds(15),
    Duration.ofMinutes(1),
    Duration.ofMinutes(5),
    Duration.ofMinutes(15),
    Duration.ofHours(1)
  };

  private final Map<Metric, Map<List<String>, Long>> amounts = new HashMap<>();

  /** Measured nowhere until there is a registry. */
  private Timer waits = waits(new CompositeMeterRegistry());

  /** Measures in a process's registry from now on what is no counter. */
  public void measureIn(MeterRegistry registry) {
    waits = waits(registry);
  }

  private static Timer waits(MeterRegistry registry) {
    return Timer.builder("gpupool.queue.wait")
        .description("Time from a request for a lease until it was granted")
        .serviceLevelObjectives(WAIT_BOUNDS)
        .register(registry);
  }

  public void add(Metric count, long amount, String... labels) {
    if (labels.length != count.labels().size()) {
      throw new IllegalArgumentException(count + " has the labels " + count.labels());
    }
    Map<List<String>, Long> rows = amounts.computeIfAbsent(count, c -> new HashMap<>());
    List<String> key = List.of(labels);
    if (rows.size() >= MAX_ROWS && !rows.containsKey(key)) {
      List<String> other = new ArrayList<>(key);
      other.set(0, OTHER);
      key = List.copyOf(other);
    }
    rows.merge(key, amount, Long::sum);
  }

  /** A request was granted after this time. */
  public void waited(Duration time) {
    waits.record(time);
  }

  /** A copy of the counters, to which what still goes on is added. */
  public ServerMetrics copy() {
    ServerMetrics copy = new ServerMetrics();
    amounts.forEach((count, rows) -> copy.amounts.put(count, new HashMap<>(rows)));
    return copy;
  }

  /** All rows but those of tenants that are not to be seen. */
  public List<MetricSample> rows(Predicate<String> tenant) {
    List<MetricSample> all = new ArrayList<>();
    for (Metric count : Metric.values()) {
      amounts
          .getOrDefault(count, Map.of())
          .forEach((labels, amount) -> {
            if (!count.isByTenant() || tenant.test(labels.getFirst())) {
              all.add(new MetricSample(count, labels, amount));
            }
          });
    }
    return all;
  }
}
