// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import io.gpupool.control.v1.GpuInfo;
import java.util.Map;
import java.util.TreeMap;

/** The driver's version as tools that look at GPUs are told it. */
public final class DriverName {
  /** CUDA's versions and the first drivers that have them, as NVIDIA's release notes say. */
  private static final TreeMap<Integer, String> FIRST =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry(0, "520.00"),
              Map.entry(12000, "525.00"),
              Map.entry(12010, "530.00"),
              Map.entry(12020, "535.00"),
              Map.entry(12030, "545.00"),
              Map.entry(12040, "550.00"),
              Map.entry(12050, "555.00"),
              Map.entry(12060, "560.00"),
              Map.entry(12070, "565.00"),
              Map.entry(12080, "570.00"),
              Map.entry(12090, "575.00"),
              Map.entry(13000, "580.00"),
              Map.entry(13010, "590.00")));

  private DriverName() {}

  /** Returns the driver's own name, else the first driver with its CUDA version. */
  public static String of(GpuInfo gpu) {
    return gpu.getDriver().isEmpty()
        ? FIRST.floorEntry(gpu.getDriverVersion()).getValue()
        : gpu.getDriver();
  }
}
