// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.TenantInfo;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** The meters of the pool's tenants. */
final class TenantMeters {
  private static final int MAX_TENANTS = 1000;

  private final MeterRows rows;
  private final PoolSnapshot pool;

  private TenantMeters(MeterRows rows, PoolSnapshot pool) {
    this.rows = rows;
    this.pool = pool;
  }

  static void update(MeterRows rows, PoolSnapshot pool) {
    TenantMeters meters = new TenantMeters(rows, pool);
    meters.use();
    meters.quotas();
  }

  private void use() {
    gauge("gpupool.tenant.gpus", "", "GPUs it holds", t -> true, TenantInfo::getUsedGpus);
    gauge(
        "gpupool.tenant.memory",
        "bytes",
        "Memory it holds",
        t -> true,
        TenantInfo::getUsedMemoryBytes);
    gauge("gpupool.tenant.leases", "", "Leases it holds", t -> true, TenantInfo::getUsedLeases);
  }

  private void quotas() {
    gauge(
        "gpupool.tenant.gpus.limit",
        "",
        "GPUs it may hold",
        t -> t.getQuota().hasGpus(),
        t -> t.getQuota().getGpus());
    gauge(
        "gpupool.tenant.memory.limit",
        "bytes",
        "Memory it may hold",
        t -> t.getQuota().hasMemoryBytes(),
        t -> t.getQuota().getMemoryBytes());
    gauge(
        "gpupool.tenant.leases.limit",
        "",
        "Leases it may hold",
        t -> t.getQuota().hasLeases(),
        t -> t.getQuota().getLeases());
  }

  /** Updates a gauge of the first tenants of which a condition holds. */
  private void gauge(
      String name,
      String unit,
      String help,
      Predicate<TenantInfo> condition,
      ToDoubleFunction<TenantInfo> value) {
    new GaugeRows<>(
            rows,
            pool.tenants().stream().filter(condition).limit(MAX_TENANTS).toList(),
            tenant -> Tags.of("tenant", tenant.getName()))
        .gauge(name, unit, help, value);
  }
}
