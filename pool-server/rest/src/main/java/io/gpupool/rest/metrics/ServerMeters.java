// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.ServerInfo;
import io.gpupool.json.JsonForm;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The meters of a server. */
final class ServerMeters {
  private static final double MILLIS_PER_SECOND = 1000;
  private static final List<String> STATES = List.of("ready", "draining", "drained", "stopping");

  private ServerMeters() {}

  static void update(MeterRows rows, PoolSnapshot pool) {
    GaugeRows<ServerInfo> servers =
        new GaugeRows<>(
            rows,
            pool.servers(),
            server -> Tags.of("server", server.getName(), "version", server.getVersion()));
    servers.gauge("gpupool.server.gpus", "", "GPUs it serves", ServerInfo::getGpus);
    servers.gauge(
        "gpupool.server.up",
        "seconds",
        "Time since it started",
        server -> server.getUpMillis() / MILLIS_PER_SECOND);
    servers.gauge(
        "gpupool.server.spare.workers",
        "",
        "Worker processes that wait for a session",
        ServerInfo::getSpareWorkers);
    new GaugeRows<>(rows, pool.servers(), server -> Tags.of("server", server.getName()))
        .gauge(
            "gpupool.server.idle",
            "seconds",
            "Time since the last lease on its GPUs ended, 0 while it has some",
            server -> server.getIdleMillis() / MILLIS_PER_SECOND);
    rows.gauge("gpupool.server.state", "", "1 for the state in which it is, else 0", states(pool));
  }

  private static Map<Tags, Double> states(PoolSnapshot pool) {
    Map<Tags, Double> states = new HashMap<>();
    for (ServerInfo server : pool.servers()) {
      for (String state : STATES) {
        states.put(
            Tags.of("server", server.getName(), "state", state),
            JsonForm.text(server.getState()).equals(state) ? 1.0 : 0.0);
      }
    }
    return states;
  }
}
