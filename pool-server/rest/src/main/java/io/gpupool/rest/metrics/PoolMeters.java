// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.json.JsonForm;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.MetricSample;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterPage;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
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
 * The meters of a server's share of the pool, taken from a snapshot of what a caller may see. Other
 * servers report their own shares, so that all of them can be added up; only the tenants' meters
 * cover the whole pool. Tags are servers, GPUs, GPU models, tenants and states, of which there are
 * few.
 */
public final class PoolMeters {
  private static final double MILLIS_PER_SECOND = 1000;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double PERCENT = 100;
  private static final double MILLIWATTS_PER_WATT = 1000;
  private static final double HERTZ_PER_MEGAHERTZ = 1e6;
  private static final List<String> SERVER_STATES =
      List.of("ready", "draining", "drained", "stopping");

  private static final int MAX_TENANTS = 1000;

  private final MeterRows rows;
  private final PoolSnapshot pool;
  private final Set<String> models;

  private PoolMeters(MeterRows rows, PoolSnapshot whole) {
    this.rows = rows;
    pool = whole.ofThisServer();
    models = whole.gpus().stream().map(GpuInfo::getName).collect(Collectors.toSet());
  }

  /** Text for Prometheus of a snapshot. */
  public static String page(PoolSnapshot pool) {
    MeterPage page = new MeterPage();
    update(new MeterRows(page.registry()), pool);
    return page.text(name -> true);
  }

  /** Replaces the values of these meters by those of a snapshot. */
  public static void update(MeterRows rows, PoolSnapshot pool) {
    PoolMeters meters = new PoolMeters(rows, pool);
    meters.servers();
    meters.gpus();
    meters.leases();
    meters.queue();
    meters.tenants();
    pool.counts().forEach(meters::count);
  }

  private void count(MetricSample sample) {
    Metric metric = sample.count();
    List<Tag> tags = new ArrayList<>();
    for (int i = 0; i < metric.labels().size(); i++) {
      tags.add(Tag.of(metric.labels().get(i), sample.labels().get(i)));
    }
    rows.counter(
        metric.meter(),
        metric.unit(),
        metric.help(),
        Tags.of(tags),
        metric.inUnit(sample.amount()));
  }

  private void servers() {
    each(
        pool.servers(),
        PoolMeters::of,
        "gpupool.server.gpus",
        "",
        "GPUs it serves",
        ServerInfo::getGpus);
    each(
        pool.servers(),
        PoolMeters::of,
        "gpupool.server.up",
        "seconds",
        "Time since it started",
        server -> server.getUpMillis() / MILLIS_PER_SECOND);
    each(
        pool.servers(),
        PoolMeters::of,
        "gpupool.server.spare.workers",
        "",
        "Worker processes that wait for a session",
        ServerInfo::getSpareWorkers);
    each(
        pool.servers(),
        server -> Tags.of("server", server.getName()),
        "gpupool.server.idle",
        "seconds",
        "Time since the last lease on its GPUs ended, 0 while it has some",
        server -> server.getIdleMillis() / MILLIS_PER_SECOND);
    Map<Tags, Double> states = new HashMap<>();
    for (ServerInfo server : pool.servers()) {
      for (String state : SERVER_STATES) {
        states.put(
            Tags.of("server", server.getName(), "state", state),
            JsonForm.text(server.getState()).equals(state) ? 1.0 : 0.0);
      }
    }
    rows.gauge("gpupool.server.state", "", "1 for the state in which it is, else 0", states);
  }

  private void gpus() {
    Map<Tags, Double> usedBytes = sum(GrantUse::getUsedMemoryBytes);
    Map<Tags, Double> usedPercent = sum(GrantUse::getUsedComputePercent);
    Map<Tags, Double> debtNanos = sum(GrantUse::getDebtGpuNanos);
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.memory",
        "bytes",
        "Size",
        GpuInfo::getMemoryBytes);
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.memory.free",
        "bytes",
        "What can still be granted",
        GpuInfo::getFreeMemoryBytes);
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.memory.used",
        "bytes",
        "What the programs of its leases have allocated",
        gpu -> usedBytes.getOrDefault(of(gpu), 0.0));
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.compute.free",
        "ratio",
        "The part of its time that can still be granted",
        gpu -> gpu.getFreeComputePercent() / PERCENT);
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.compute.used",
        "ratio",
        "The part of its time that its leases had in the last seconds",
        gpu -> usedPercent.getOrDefault(of(gpu), 0.0) / PERCENT);
    each(
        pool.gpus(),
        PoolMeters::of,
        "gpupool.gpu.debt",
        "seconds",
        "Time that its leases have had beyond what their shares allow by now",
        gpu -> debtNanos.getOrDefault(of(gpu), 0.0) / NANOS_PER_SECOND);
    each(
        pool.gpus(),
        PoolMeters::of,
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

  /** Of the GPUs whose driver tells it. */
  private void measured(
      Predicate<GpuInfo> has,
      String name,
      String unit,
      String help,
      ToDoubleFunction<GpuInfo> value) {
    List<GpuInfo> telling = pool.gpus().stream().filter(has).toList();
    if (!telling.isEmpty()) {
      each(telling, PoolMeters::of, name, unit, help, value);
    }
  }

  private void leases() {
    rows.gauge(
        "gpupool.leases",
        "",
        "Leases by state",
        countByState(
            pool.leases().stream().filter(this::isCountedHere).toList(),
            lease -> JsonForm.text(lease.getState()),
            "held",
            "grace",
            "ending"));
    rows.gauge(
        "gpupool.sessions",
        "",
        "Program processes by state of their session",
        countByState(
            pool.sessions(),
            session -> JsonForm.text(session.getState()),
            "opening",
            "joining",
            "attached",
            "ending"));
  }

  /** One that has GPUs of several servers is counted by the first of them. */
  private boolean isCountedHere(LeaseInfo lease) {
    return lease.getGrantsCount() > 0
        && lease.getGrants(0).getGrant().getServer().equals(pool.server());
  }

  private void queue() {
    single("gpupool.queue.requests", "", "Requests for leases that wait", pool.queue().size());
    single(
        "gpupool.queue.wait.max",
        "seconds",
        "How long the request has waited that has waited longest",
        pool.queue().stream().mapToLong(QueueInfo::getWaitedMillis).max().orElse(0)
            / MILLIS_PER_SECOND);
    Map<Tags, Double> demand = new HashMap<>();
    demand.put(Tags.of("model", "any"), 0.0);
    for (QueueInfo request : pool.queue()) {
      if (!request.getOverQuota()) {
        demand.merge(Tags.of("model", model(request.getModel())), request.getGpus(), Double::sum);
      }
    }
    rows.gauge("gpupool.demand.gpus", "", "GPUs that requests wait for", demand);
  }

  private void tenants() {
    tenants("gpupool.tenant.gpus", "", "GPUs it holds", t -> true, TenantInfo::getUsedGpus);
    tenants(
        "gpupool.tenant.gpus.limit",
        "",
        "GPUs it may hold",
        t -> t.getQuota().hasGpus(),
        t -> t.getQuota().getGpus());
    tenants(
        "gpupool.tenant.memory",
        "bytes",
        "Memory it holds",
        t -> true,
        TenantInfo::getUsedMemoryBytes);
    tenants(
        "gpupool.tenant.memory.limit",
        "bytes",
        "Memory it may hold",
        t -> t.getQuota().hasMemoryBytes(),
        t -> t.getQuota().getMemoryBytes());
    tenants("gpupool.tenant.leases", "", "Leases it holds", t -> true, TenantInfo::getUsedLeases);
    tenants(
        "gpupool.tenant.leases.limit",
        "",
        "Leases it may hold",
        t -> t.getQuota().hasLeases(),
        t -> t.getQuota().getLeases());
  }

  private void tenants(
      String name,
      String unit,
      String help,
      Predicate<TenantInfo> which,
      ToDoubleFunction<TenantInfo> value) {
    each(
        pool.tenants().stream().filter(which).limit(MAX_TENANTS).toList(),
        tenant -> Tags.of("tenant", tenant.getName()),
        name,
        unit,
        help,
        value);
  }

  private void single(String name, String unit, String help, double value) {
    rows.gauge(name, unit, help, Map.of(Tags.empty(), value));
  }

  /** Only models that there are, as anyone may ask for any. */
  private String model(String asked) {
    return asked.isEmpty()
        ? "any"
        : models.stream().filter(asked::equalsIgnoreCase).findFirst().orElse("other");
  }

  private <T> void each(
      List<T> things,
      Function<T, Tags> labels,
      String name,
      String unit,
      String help,
      ToDoubleFunction<T> value) {
    rows.gauge(
        name, unit, help, things.stream().collect(Collectors.toMap(labels, value::applyAsDouble)));
  }

  private static <T> Map<Tags, Double> countByState(
      List<T> things, Function<T, String> state, String... states) {
    return Stream.of(states)
        .collect(
            Collectors.toMap(
                name -> Tags.of("state", name),
                name ->
                    (double)
                        things.stream().filter(thing -> state.apply(thing).equals(name)).count()));
  }

  /** Of all grants, by the GPU that they are on. */
  private Map<Tags, Double> sum(ToDoubleFunction<GrantUse> value) {
    Map<Tags, Double> sums = new HashMap<>();
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        Tags gpu = gpu(use.getGrant().getServer(), use.getGrant().getGpu());
        sums.merge(gpu, value.applyAsDouble(use), Double::sum);
      }
    }
    return sums;
  }

  private static Tags of(ServerInfo server) {
    return Tags.of("server", server.getName(), "version", server.getVersion());
  }

  private static Tags of(GpuInfo gpu) {
    return gpu(gpu.getServer(), gpu.getGpu());
  }

  private static Tags gpu(String server, int ordinal) {
    return Tags.of("server", server, "gpu", Integer.toString(ordinal));
  }
}
