// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The meters of the requests that wait at a server. */
final class QueueMeters {
  private static final double MILLIS_PER_SECOND = 1000;

  private QueueMeters() {}

  static void update(MeterRows rows, PoolSnapshot pool) {
    rows.gauge(
        "gpupool.queue.requests",
        "",
        "Requests for leases that wait",
        Map.of(Tags.empty(), (double) pool.queue().size()));
    rows.gauge(
        "gpupool.queue.wait.max",
        "seconds",
        "How long the request has waited that has waited longest",
        Map.of(
            Tags.empty(),
            pool.queue().stream().mapToLong(QueueInfo::getWaitedMillis).max().orElse(0)
                / MILLIS_PER_SECOND));
    rows.gauge("gpupool.demand.gpus", "", "GPUs that requests wait for", demand(pool));
  }

  private static Map<Tags, Double> demand(PoolSnapshot pool) {
    Set<String> models = pool.gpus().stream().map(GpuInfo::getName).collect(Collectors.toSet());
    Map<Tags, Double> demand = new HashMap<>();
    demand.put(Tags.of("model", "any"), 0.0);
    for (QueueInfo request : pool.queue()) {
      if (!request.getOverQuota()) {
        demand.merge(
            Tags.of("model", model(models, request.getModel())), request.getGpus(), Double::sum);
      }
    }
    return demand;
  }

  /** Returns a model of the pool, as a request may name any text. */
  private static String model(Set<String> models, String asked) {
    return asked.isEmpty()
        ? "any"
        : models.stream().filter(asked::equalsIgnoreCase).findFirst().orElse("other");
  }
}
