// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.MetricSample;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.worker.WorkerPool;
import java.util.List;

/** A view of this server's counters. Runs on the control thread. */
public record MetricsView(
    String server,
    LeaseService leases,
    Sessions sessions,
    WorkerPool workers,
    RecordStore records,
    Timers timers) {
  /** The counters that a caller may see. */
  List<MetricSample> rows(Principal principal) {
    return current().rows(principal::maySee);
  }

  /** What has happened so far, with what goes on. */
  private ServerMetrics current() {
    ServerMetrics metrics = leases.metrics().copy();
    leases.all().forEach(lease -> lease.countTime(metrics, timers.nowNanos()));
    sessions.all().forEach(session -> Sessions.countCalls(metrics, session));
    metrics.add(Metric.WORKERS_STARTED, workers.started(), server);
    metrics.add(Metric.WORKERS_FAILED, workers.failed(), server);
    metrics.add(Metric.STATE_COMMITS, records.commits(), server);
    metrics.add(Metric.STATE_CONFLICTS, records.conflicts(), server);
    metrics.add(Metric.STATE_FAILURES, records.failures(), server);
    return metrics;
  }
}
