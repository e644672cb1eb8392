// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import io.gpupool.control.v1.GpuInfo;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;

/** The measurements of cards, as {@code gpupool smi} shows them. */
final class SmiSensors {
  private static final double MILLIWATTS_PER_WATT = 1000;

  /** The fields by their names in {@code --query-gpu}. */
  static final Map<String, SmiFields.Field<SmiGpu>> FIELDS = fields();

  private SmiSensors() {}

  private static Map<String, SmiFields.Field<SmiGpu>> fields() {
    Map<String, SmiFields.Field<SmiGpu>> fields = new TreeMap<>();
    put(
        fields,
        "",
        GpuInfo::hasTemperatureCelsius,
        GpuInfo::getTemperatureCelsius,
        "temperature.gpu");
    put(
        fields,
        "W",
        GpuInfo::hasPowerMilliwatts,
        card -> watts(card.getPowerMilliwatts()),
        "power.draw");
    put(
        fields,
        "W",
        GpuInfo::hasPowerLimitMilliwatts,
        card -> watts(card.getPowerLimitMilliwatts()),
        "enforced.power.limit",
        "power.limit");
    put(fields, "%", GpuInfo::hasFanPercent, GpuInfo::getFanPercent, "fan.speed");
    put(fields, "", GpuInfo::hasPerformanceState, SmiSensors::performance, "pstate");
    putClocks(fields);
    put(
        fields,
        "",
        GpuInfo::hasCorrectedErrors,
        GpuInfo::getCorrectedErrors,
        "ecc.errors.corrected.volatile.total");
    put(
        fields,
        "",
        GpuInfo::hasUncorrectedErrors,
        GpuInfo::getUncorrectedErrors,
        "ecc.errors.uncorrected.volatile.total");
    return fields;
  }

  private static void putClocks(Map<String, SmiFields.Field<SmiGpu>> fields) {
    put(
        fields,
        "MHz",
        GpuInfo::hasGraphicsMegahertz,
        GpuInfo::getGraphicsMegahertz,
        "clocks.gr",
        "clocks.current.graphics");
    put(
        fields,
        "MHz",
        GpuInfo::hasSmMegahertz,
        GpuInfo::getSmMegahertz,
        "clocks.sm",
        "clocks.current.sm");
    put(
        fields,
        "MHz",
        GpuInfo::hasMemoryMegahertz,
        GpuInfo::getMemoryMegahertz,
        "clocks.mem",
        "clocks.current.memory");
    put(
        fields,
        "MHz",
        GpuInfo::hasVideoMegahertz,
        GpuInfo::getVideoMegahertz,
        "clocks.video",
        "clocks.current.video");
  }

  private static void put(
      Map<String, SmiFields.Field<SmiGpu>> fields,
      String unit,
      Predicate<GpuInfo> isTold,
      Function<GpuInfo, Object> value,
      String... names) {
    SmiFields.Field<SmiGpu> field =
        new SmiFields.Field<>(
            unit, gpu -> isTold.test(gpu.card()) ? value.apply(gpu.card()) : SmiFields.NONE);
    for (String name : names) {
      fields.put(name, field);
    }
  }

  private static String watts(int milliwatts) {
    return String.format(Locale.ROOT, "%.2f", milliwatts / MILLIWATTS_PER_WATT);
  }

  private static String performance(GpuInfo card) {
    return "P" + card.getPerformanceState();
  }

  static String fan(GpuInfo card) {
    return card.hasFanPercent() ? card.getFanPercent() + "%" : "N/A";
  }

  static String temperature(GpuInfo card) {
    return card.hasTemperatureCelsius() ? card.getTemperatureCelsius() + "C" : "N/A";
  }

  static String performanceState(GpuInfo card) {
    return card.hasPerformanceState() ? performance(card) : "N/A";
  }

  static String power(GpuInfo card) {
    return card.hasPowerMilliwatts() ? wholeWatts(card.getPowerMilliwatts()) : "N/A";
  }

  static String powerLimit(GpuInfo card) {
    return card.hasPowerLimitMilliwatts() ? wholeWatts(card.getPowerLimitMilliwatts()) : "N/A";
  }

  static String uncorrectedErrors(GpuInfo card) {
    return card.hasUncorrectedErrors() ? Long.toString(card.getUncorrectedErrors()) : "N/A";
  }

  private static String wholeWatts(int milliwatts) {
    return Math.round(milliwatts / MILLIWATTS_PER_WATT) + "W";
  }
}
