// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Counters of what has happened on a server since its start. Names that callers give are counted
 * apart up to a limit, and those beyond it together. Owned by the control thread.
 */
public final class ServerMetrics {
  static final int MAX_ROWS = 1000;
  static final String OTHER = "other";

  private final Map<Metric, Map<List<String>, Long>> amounts = new HashMap<>();
  private final long[] waits = new long[WaitHistogram.BOUNDS_SECONDS.size() + 1];
  private double waitedSeconds;

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
  public void waited(double seconds) {
    int bucket = 0;
    while (bucket < waits.length - 1 && seconds > WaitHistogram.BOUNDS_SECONDS.get(bucket)) {
      bucket++;
    }
    waits[bucket]++;
    waitedSeconds += seconds;
  }

  /** The same with what goes on still, to be added to. */
  public ServerMetrics copy() {
    ServerMetrics copy = new ServerMetrics();
    amounts.forEach((count, rows) -> copy.amounts.put(count, new HashMap<>(rows)));
    System.arraycopy(waits, 0, copy.waits, 0, waits.length);
    copy.waitedSeconds = waitedSeconds;
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

  public WaitHistogram waits() {
    List<Long> counts = new ArrayList<>();
    for (long count : waits) {
      counts.add(count);
    }
    return new WaitHistogram(counts, waitedSeconds);
  }
}
