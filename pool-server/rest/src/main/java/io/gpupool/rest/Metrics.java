// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.server.service.PoolSnapshot;
import io.gpupool.server.tally.Metric;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A snapshot of a server as metrics: what its caller may see, in the text format of Prometheus.
 * What other servers have they tell themselves, so that all of them can be added up; only tenants
 * are the whole pool's. Labels are servers, GPUs, their models, tenants and states, of which there
 * are few.
 */
final class Metrics {
  static final String TYPE = MetricPage.TYPE;
  private static final double MILLIS_PER_SECOND = 1000;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double PERCENT = 100;
  private static final double MILLIWATTS_PER_WATT = 1000;
  private static final double HERTZ_PER_MEGAHERTZ = 1e6;
  private static final List<String> SERVER_STATES =
      List.of("ready", "draining", "drained", "stopping");

  private static final int MAX_TENANTS = 1000;

  private final MetricPage page = new MetricPage();
  private final PoolSnapshot pool;
  private final Set<String> models;

  private Metrics(PoolSnapshot whole) {
    pool = whole.ofThisServer();
    models = whole.gpus().stream().map(GpuInfo::getName).collect(Collectors.toSet());
  }

  static String of(PoolSnapshot pool) {
    Metrics metrics = new Metrics(pool);
    metrics.servers();
    metrics.gpus();
    metrics.leases();
    metrics.queue();
    metrics.tenants();
    for (Metric count : Metric.values()) {
      metrics.page.counter(count, pool.counts());
    }
    metrics.page.histogram(
        "gpupool_queue_wait_seconds",
        "Time from a request for a lease until it was granted",
        pool.waits());
    return metrics.page.text();
  }

  private void servers() {
    each(pool.servers(), Metrics::of, "gpupool_server_gpus", "GPUs it serves", ServerInfo::getGpus);
    each(
        pool.servers(),
        Metrics::of,
        "gpupool_server_up_seconds",
        "Time since it started",
        server -> server.getUpMillis() / MILLIS_PER_SECOND);
    each(
        pool.servers(),
        Metrics::of,
        "gpupool_server_spare_workers",
        "Worker processes that wait for a session",
        ServerInfo::getSpareWorkers);
    each(
        pool.servers(),
        server -> Labels.of("server", server.getName()),
        "gpupool_server_idle_seconds",
        "Time since the last lease on its GPUs ended, 0 while it has some",
        server -> server.getIdleMillis() / MILLIS_PER_SECOND);
    Map<Labels, Double> states = new HashMap<>();
    for (ServerInfo server : pool.servers()) {
      for (String state : SERVER_STATES) {
        states.put(
            Labels.of("server", server.getName(), "state", state),
            server.getState().equals(state) ? 1.0 : 0.0);
      }
    }
    page.gauge("gpupool_server_state", "1 for the state in which it is, else 0", states);
  }

  private void gpus() {
    Map<Labels, Double> usedBytes = sum(GrantUse::getUsedMemoryBytes);
    Map<Labels, Double> usedPercent = sum(GrantUse::getUsedComputePercent);
    Map<Labels, Double> debtNanos = sum(GrantUse::getDebtGpuNanos);
    each(pool.gpus(), Metrics::of, "gpupool_gpu_memory_bytes", "Size", GpuInfo::getMemoryBytes);
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_memory_free_bytes",
        "What can still be granted",
        GpuInfo::getFreeMemoryBytes);
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_memory_used_bytes",
        "What the programs of its leases have allocated",
        gpu -> usedBytes.getOrDefault(of(gpu), 0.0));
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_compute_free_ratio",
        "The part of its time that can still be granted",
        gpu -> gpu.getFreeComputePercent() / PERCENT);
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_compute_used_ratio",
        "The part of its time that its leases had in the last seconds",
        gpu -> usedPercent.getOrDefault(of(gpu), 0.0) / PERCENT);
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_debt_seconds",
        "Time that its leases have had beyond what their shares allow by now",
        gpu -> debtNanos.getOrDefault(of(gpu), 0.0) / NANOS_PER_SECOND);
    each(
        pool.gpus(),
        Metrics::of,
        "gpupool_gpu_healthy",
        "1, or 0 for one that has a fault, of which nothing is granted",
        gpu -> gpu.getHealth().equals("healthy") ? 1 : 0);
    measured(
        GpuInfo::hasTemperatureCelsius,
        "gpupool_gpu_temperature_celsius",
        "What its sensor tells",
        GpuInfo::getTemperatureCelsius);
    measured(
        GpuInfo::hasPowerMilliwatts,
        "gpupool_gpu_power_watts",
        "What it draws",
        gpu -> gpu.getPowerMilliwatts() / MILLIWATTS_PER_WATT);
    measured(
        GpuInfo::hasSmMegahertz,
        "gpupool_gpu_clock_hertz",
        "Clock of its multiprocessors",
        gpu -> gpu.getSmMegahertz() * HERTZ_PER_MEGAHERTZ);
    measured(
        GpuInfo::hasUncorrectedErrors,
        "gpupool_gpu_uncorrected_errors",
        "Errors of its memory since the driver was loaded",
        GpuInfo::getUncorrectedErrors);
  }

  /** Of the GPUs whose driver tells it. */
  private void measured(
      Predicate<GpuInfo> has, String name, String help, ToDoubleFunction<GpuInfo> value) {
    List<GpuInfo> telling = pool.gpus().stream().filter(has).toList();
    if (!telling.isEmpty()) {
      each(telling, Metrics::of, name, help, value);
    }
  }

  private void leases() {
    page.gauge(
        "gpupool_leases",
        "Leases by state",
        countByState(
            pool.leases().stream().filter(this::isCountedHere).toList(),
            LeaseInfo::getState,
            "held",
            "grace",
            "ending"));
    page.gauge(
        "gpupool_sessions",
        "Program processes by state of their session",
        countByState(
            pool.sessions(), SessionInfo::getState, "opening", "joining", "attached", "ending"));
  }

  /** One that has GPUs of several servers is counted by the first of them. */
  private boolean isCountedHere(LeaseInfo lease) {
    return lease.getGrantsCount() > 0
        && lease.getGrants(0).getGrant().getServer().equals(pool.server());
  }

  private void queue() {
    page.gauge("gpupool_queue_requests", "Requests for leases that wait", pool.queue().size());
    page.gauge(
        "gpupool_queue_wait_max_seconds",
        "How long the request has waited that has waited longest",
        pool.queue().stream().mapToLong(QueueInfo::getWaitedMillis).max().orElse(0)
            / MILLIS_PER_SECOND);
    Map<Labels, Double> demand = new HashMap<>();
    demand.put(Labels.of("model", "any"), 0.0);
    for (QueueInfo request : pool.queue()) {
      if (!request.getOverQuota()) {
        demand.merge(Labels.of("model", model(request.getModel())), request.getGpus(), Double::sum);
      }
    }
    page.gauge("gpupool_demand_gpus", "GPUs that requests wait for", demand);
  }

  private void tenants() {
    tenants("gpupool_tenant_gpus", "GPUs it holds", t -> true, TenantInfo::getUsedGpus);
    tenants(
        "gpupool_tenant_gpus_limit",
        "GPUs it may hold",
        t -> t.getQuota().hasGpus(),
        t -> t.getQuota().getGpus());
    tenants(
        "gpupool_tenant_memory_bytes",
        "Memory it holds",
        t -> true,
        TenantInfo::getUsedMemoryBytes);
    tenants(
        "gpupool_tenant_memory_limit_bytes",
        "Memory it may hold",
        t -> t.getQuota().hasMemoryBytes(),
        t -> t.getQuota().getMemoryBytes());
    tenants("gpupool_tenant_leases", "Leases it holds", t -> true, TenantInfo::getUsedLeases);
    tenants(
        "gpupool_tenant_leases_limit",
        "Leases it may hold",
        t -> t.getQuota().hasLeases(),
        t -> t.getQuota().getLeases());
  }

  private void tenants(
      String name, String help, Predicate<TenantInfo> which, ToDoubleFunction<TenantInfo> value) {
    each(
        pool.tenants().stream().filter(which).limit(MAX_TENANTS).toList(),
        tenant -> Labels.of("tenant", tenant.getName()),
        name,
        help,
        value);
  }

  /** Only models that there are, as anyone may ask for any. */
  private String model(String asked) {
    return asked.isEmpty()
        ? "any"
        : models.stream().filter(asked::equalsIgnoreCase).findFirst().orElse("other");
  }

  private <T> void each(
      List<T> things,
      Function<T, Labels> labels,
      String name,
      String help,
      ToDoubleFunction<T> value) {
    page.gauge(name, help, things.stream().collect(Collectors.toMap(labels, value::applyAsDouble)));
  }

  private static <T> Map<Labels, Double> countByState(
      List<T> things, Function<T, String> state, String... states) {
    return Stream.of(states)
        .collect(
            Collectors.toMap(
                name -> Labels.of("state", name),
                name ->
                    (double)
                        things.stream().filter(thing -> state.apply(thing).equals(name)).count()));
  }

  /** Of all grants, by the GPU that they are on. */
  private Map<Labels, Double> sum(ToDoubleFunction<GrantUse> value) {
    Map<Labels, Double> sums = new HashMap<>();
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        Labels gpu = gpu(use.getGrant().getServer(), use.getGrant().getGpu());
        sums.merge(gpu, value.applyAsDouble(use), Double::sum);
      }
    }
    return sums;
  }

  private static Labels of(ServerInfo server) {
    return Labels.of("server", server.getName(), "version", server.getVersion());
  }

  private static Labels of(GpuInfo gpu) {
    return gpu(gpu.getServer(), gpu.getGpu());
  }

  private static Labels gpu(String server, int ordinal) {
    return Labels.of("server", server, "gpu", Integer.toString(ordinal));
  }
}
