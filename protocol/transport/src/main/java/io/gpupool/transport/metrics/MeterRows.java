// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Meters of figures that are counted elsewhere: each update replaces all rows of a gauge, and adds
 * to those of a counter. Names and units are Micrometer's: {@code gpupool.gpu.memory} in {@code
 * bytes} is Prometheus's {@code gpupool_gpu_memory_bytes}. For one thread.
 */
public final class MeterRows {
  private final MeterRegistry registry;
  private final Map<String, MultiGauge> gauges = new HashMap<>();
  private final Map<CounterRow, Total> totals = new HashMap<>();

  private record CounterRow(String name, Tags tags) {}

  private static final class Total {
    volatile double amount;
  }

  public MeterRows(MeterRegistry registry) {
    this.registry = registry;
  }

  /** The rows of a gauge, from now on these alone. */
  public void gauge(String name, String unit, String help, Map<Tags, Double> values) {
    List<MultiGauge.Row<?>> rows =
        values.entrySet().stream()
            .<MultiGauge.Row<?>>map(row -> MultiGauge.Row.of(row.getKey(), row.getValue()))
            .toList();
    gauges
        .computeIfAbsent(
            name,
            added ->
                MultiGauge.builder(added)
                    .description(help)
                    .baseUnit(orNone(unit))
                    .register(registry))
        .register(rows, true);
  }

  /** One row of a counter, as far as it has come. */
  public void counter(String name, String unit, String help, Tags tags, double amount) {
    Total total =
        totals.computeIfAbsent(new CounterRow(name, tags), row -> registered(row, unit, help));
    total.amount = amount;
  }

  private Total registered(CounterRow row, String unit, String help) {
    Total total = new Total();
    FunctionCounter.builder(row.name(), registry, of -> total.amount)
        .description(help)
        .baseUnit(orNone(unit))
        .tags(row.tags())
        .register(registry);
    return total;
  }

  private static @Nullable String orNone(String unit) {
    return unit.isEmpty() ? null : unit;
  }
}
