// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** The meters of a server's GPUs. */
final class GpuMeters {
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double PERCENT = 100;
  private static final double MILLIWATTS_PER_WATT = 1000;
  private static final double HERTZ_PER_MEGAHERTZ = 1e6;

  private final GaugeRows<GpuInfo> gpus;
  private final PoolSnapshot pool;

  private GpuMeters(MeterRows rows, PoolSnapshot pool) {
    this.pool = pool;
    gpus = new GaugeRows<>(rows, pool.gpus(), gpu -> tags(gpu.getServer(), gpu.getGpu()));
  }

  static void update(MeterRows rows, PoolSnapshot pool) {
    GpuMeters meters = new GpuMeters(rows, pool);
    meters.memory();
    meters.compute();
    meters.health();
  }

  private void memory() {
    Map<Tags, Double> usedBytes = sum(GrantUse::getUsedMemoryBytes);
    gpus.gauge("gpupool.gpu.memory", "bytes", "Size", GpuInfo::getMemoryBytes);
    gpus.gauge(
        "gpupool.gpu.memory.free",
        "bytes",
        "What can still be granted",
        GpuInfo::getFreeMemoryBytes);
    gpus.gauge(
        "gpupool.gpu.memory.used",
        "bytes",
        "What the programs of its leases have allocated",
        gpu -> of(gpu, usedBytes));
  }

  private void compute() {
    Map<Tags, Double> usedPercent = sum(GrantUse::getUsedComputePercent);
    Map<Tags, Double> debtNanos = sum(GrantUse::getDebtGpuNanos);
    gpus.gauge(
        "gpupool.gpu.compute.free",
        "ratio",
        "The part of its time that can still be granted",
        gpu -> gpu.getFreeComputePercent() / PERCENT);
    gpus.gauge(
        "gpupool.gpu.compute.used",
        "ratio",
        "The part of its time that its leases had in the last seconds",
        gpu -> of(gpu, usedPercent) / PERCENT);
    gpus.gauge(
        "gpupool.gpu.debt",
        "seconds",
        "Time that its leases have had beyond what their shares allow by now",
        gpu -> of(gpu, debtNanos) / NANOS_PER_SECOND);
  }

  private void health() {
    gpus.gauge(
        "gpupool.gpu.healthy",
        "",
        "1, or 0 for one that has a fault, of which nothing is granted",
        gpu -> gpu.getHealth() == GpuInfo.Health.HEALTH_HEALTHY ? 1 : 0);
    measured(
        GpuInfo::hasTemperatureCelsius,
        "gpupool.gpu.temperature",
        "celsius",
        "What its sensor tells",
        GpuInfo::getTemperatureCelsius);
    measured(
        GpuInfo::hasPowerMilliwatts,
        "gpupool.gpu.power",
        "watts",
        "What it draws",
        gpu -> gpu.getPowerMilliwatts() / MILLIWATTS_PER_WATT);
    measured(
        GpuInfo::hasSmMegahertz,
        "gpupool.gpu.clock",
        "hertz",
        "Clock of its multiprocessors",
        gpu -> gpu.getSmMegahertz() * HERTZ_PER_MEGAHERTZ);
    measured(
        GpuInfo::hasUncorrectedErrors,
        "gpupool.gpu.uncorrected.errors",
        "",
        "Errors of its memory since the driver was loaded",
        GpuInfo::getUncorrectedErrors);
  }

  /** Updates a gauge of the GPUs whose driver reports its value. */
  private void measured(
      Predicate<GpuInfo> has,
      String name,
      String unit,
      String help,
      ToDoubleFunction<GpuInfo> value) {
    GaugeRows<GpuInfo> reporting = gpus.where(has);
    if (!reporting.isEmpty()) {
      reporting.gauge(name, unit, help, value);
    }
  }

  /** Returns the sums over all grants by the GPU that they are on. */
  private Map<Tags, Double> sum(ToDoubleFunction<GrantUse> value) {
    Map<Tags, Double> sums = new HashMap<>();
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        Tags gpu = tags(use.getGrant().getServer(), use.getGrant().getGpu());
        sums.merge(gpu, value.applyAsDouble(use), Double::sum);
      }
    }
    return sums;
  }

  private static double of(GpuInfo gpu, Map<Tags, Double> sums) {
    return sums.getOrDefault(tags(gpu.getServer(), gpu.getGpu()), 0.0);
  }

  private static Tags tags(String server, int ordinal) {
    return Tags.of("server", server, "gpu", Integer.toString(ordinal));
  }
}
