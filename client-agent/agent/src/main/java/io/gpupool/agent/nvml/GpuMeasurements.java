// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import io.gpupool.control.v1.GpuInfo;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The measurements of a card, as fields of a message for the shim. Pure functions. */
final class GpuMeasurements {
  private GpuMeasurements() {}

  /** The measurements by field, without those that the card does not have. */
  static Map<String, String> of(GpuInfo gpu) {
    Map<String, String> fields = new LinkedHashMap<>();
    put(fields, gpu.hasTemperatureCelsius(), "temperature", gpu.getTemperatureCelsius());
    put(fields, gpu.hasPowerMilliwatts(), "power", gpu.getPowerMilliwatts());
    put(fields, gpu.hasPowerLimitMilliwatts(), "power_limit", gpu.getPowerLimitMilliwatts());
    put(fields, gpu.hasFanPercent(), "fan", gpu.getFanPercent());
    put(fields, gpu.hasPerformanceState(), "performance", gpu.getPerformanceState());
    put(fields, gpu.hasGraphicsMegahertz(), "graphics_now", gpu.getGraphicsMegahertz());
    put(fields, gpu.hasSmMegahertz(), "sm_now", gpu.getSmMegahertz());
    put(fields, gpu.hasMemoryMegahertz(), "memory_now", gpu.getMemoryMegahertz());
    put(fields, gpu.hasVideoMegahertz(), "video_now", gpu.getVideoMegahertz());
    put(fields, gpu.hasCorrectedErrors(), "corrected", gpu.getCorrectedErrors());
    put(fields, gpu.hasUncorrectedErrors(), "uncorrected", gpu.getUncorrectedErrors());
    put(fields, gpu.getFaults() > 0, "faults", gpu.getFaults());
    if (gpu.getLastFaultsCount() > 0) {
      fields.put(
          "last_faults",
          gpu.getLastFaultsList().stream()
              .map(Integer::toUnsignedString)
              .collect(Collectors.joining(" ")));
    }
    return fields;
  }

  private static void put(Map<String, String> fields, boolean isTold, String key, long value) {
    if (isTold) {
      fields.put(key, Long.toString(value));
    }
  }
}
