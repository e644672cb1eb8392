// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** The gauges that have a row for each of several things. */
final class GaugeRows<T> {
  private final MeterRows rows;
  private final List<T> things;
  private final Function<T, Tags> tags;

  GaugeRows(MeterRows rows, List<T> things, Function<T, Tags> tags) {
    this.rows = rows;
    this.things = things;
    this.tags = tags;
  }

  /** Returns the gauges of some of the things. */
  GaugeRows<T> where(Predicate<T> condition) {
    return new GaugeRows<>(rows, things.stream().filter(condition).toList(), tags);
  }

  boolean isEmpty() {
    return things.isEmpty();
  }

  void gauge(String name, String unit, String help, ToDoubleFunction<T> value) {
    rows.gauge(
        name, unit, help, things.stream().collect(Collectors.toMap(tags, value::applyAsDouble)));
  }
}
