// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.PoolSnapshot;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * A snapshot of the pool as metrics: what its caller may see, in the text format of Prometheus.
 * Labels are servers, GPUs and states, of which there are few.
 */
final class Metrics {
  static final String TYPE = "text/plain; version=0.0.4; charset=utf-8";
  private static final double MILLIS_PER_SECOND = 1000;
  private static final double PERCENT = 100;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  private Metrics(PoolSnapshot pool) {
    servers(pool.servers());
    gpus(
        pool.gpus(),
        sum(pool.leases(), GrantUse::getUsedMemoryBytes),
        sum(pool.leases(), GrantUse::getUsedComputePercent));
    gauge(
        "gpupool.leases",
        "",
        "Leases by state",
        countByState(pool.leases(), LeaseInfo::getState, "held", "grace", "ending"));
    gauge(
        "gpupool.sessions",
        "",
        "Program processes by state of their session",
        countByState(
            pool.sessions(), SessionInfo::getState, "opening", "joining", "attached", "ending"));
    gauge(
        "gpupool.session.calls",
        "per.second",
        "Calls of the CUDA driver by all sessions, of late",
        List.of(
            Row.of(
                Tags.empty(),
                pool.sessions().stream().mapToDouble(SessionInfo::getCallsPerSecond).sum())));
    gauge(
        "gpupool.queue.requests",
        "",
        "Requests for leases that wait",
        List.of(Row.of(Tags.empty(), pool.queue().size())));
    gauge(
        "gpupool.queue.wait.max",
        "seconds",
        "How long the request has waited that has waited longest",
        List.of(
            Row.of(
                Tags.empty(),
                pool.queue().stream().mapToLong(QueueInfo::getWaitedMillis).max().orElse(0)
                    / MILLIS_PER_SECOND)));
  }

  static String of(PoolSnapshot pool) {
    Metrics metrics = new Metrics(pool);
    try {
      return metrics.registry.scrape();
    } finally {
      metrics.registry.close();
    }
  }

  private void servers(List<ServerInfo> servers) {
    each(servers, Metrics::of, "gpupool.server.gpus", "", "GPUs it serves", ServerInfo::getGpus);
    each(
        servers,
        Metrics::of,
        "gpupool.server.up",
        "seconds",
        "Since it started",
        server -> server.getUpMillis() / MILLIS_PER_SECOND);
    each(
        servers,
        Metrics::of,
        "gpupool.server.spare.workers",
        "",
        "Worker processes that wait for a session",
        ServerInfo::getSpareWorkers);
  }

  private void gpus(
      List<GpuInfo> gpus, Map<Tags, Double> usedBytes, Map<Tags, Double> usedPercent) {
    each(gpus, Metrics::of, "gpupool.gpu.memory", "bytes", "Size", GpuInfo::getMemoryBytes);
    each(
        gpus,
        Metrics::of,
        "gpupool.gpu.memory.free",
        "bytes",
        "What can still be granted",
        GpuInfo::getFreeMemoryBytes);
    each(
        gpus,
        Metrics::of,
        "gpupool.gpu.memory.used",
        "bytes",
        "What the programs of its leases have allocated",
        gpu -> usedBytes.getOrDefault(of(gpu), 0.0));
    each(
        gpus,
        Metrics::of,
        "gpupool.gpu.compute.free",
        "ratio",
        "The part of its time that can still be granted",
        gpu -> gpu.getFreeComputePercent() / PERCENT);
    each(
        gpus,
        Metrics::of,
        "gpupool.gpu.compute.used",
        "ratio",
        "The part of its time that its leases had in the last seconds",
        gpu -> usedPercent.getOrDefault(of(gpu), 0.0) / PERCENT);
  }

  private <T> void each(
      List<T> things,
      Function<T, Tags> tags,
      String name,
      String unit,
      String help,
      ToDoubleFunction<T> value) {
    gauge(
        name,
        unit,
        help,
        things.stream()
            .<Row<?>>map(thing -> Row.of(tags.apply(thing), value.applyAsDouble(thing)))
            .toList());
  }

  private void gauge(String name, String unit, String help, List<Row<?>> rows) {
    MultiGauge.Builder gauge = MultiGauge.builder(name).description(help);
    if (!unit.isEmpty()) {
      gauge.baseUnit(unit);
    }
    gauge.register(registry).register(rows);
  }

  private static <T> List<Row<?>> countByState(
      List<T> things, Function<T, String> state, String... states) {
    return Stream.of(states)
        .<Row<?>>map(name ->
            Row.of(
                Tags.of("state", name),
                things.stream().filter(thing -> state.apply(thing).equals(name)).count()))
        .toList();
  }

  /** Of all grants, by the GPU that they are on. */
  private static Map<Tags, Double> sum(List<LeaseInfo> leases, ToDoubleFunction<GrantUse> value) {
    Map<Tags, Double> sums = new HashMap<>();
    for (LeaseInfo lease : leases) {
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
