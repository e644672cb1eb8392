// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.MetricSample;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterPage;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;

/**
 * The meters of a server's share of the pool, taken from a snapshot of what a caller may see. Other
 * servers report their own shares, so that all of them can be added up; only the tenants' meters
 * cover the whole pool. Tags are servers, GPUs, GPU models, tenants and states, of which there are
 * few.
 */
public final class PoolMeters {
  private PoolMeters() {}

  /** Returns the meters of a snapshot as text for Prometheus. */
  public static String page(PoolSnapshot pool) {
    MeterPage page = new MeterPage();
    update(new MeterRows(page.registry()), pool);
    return page.text(name -> true);
  }

  /** Replaces the values of these meters by those of a snapshot. */
  public static void update(MeterRows rows, PoolSnapshot pool) {
    PoolSnapshot share = pool.ofThisServer();
    ServerMeters.update(rows, share);
    GpuMeters.update(rows, share);
    LeaseMeters.update(rows, share);
    QueueMeters.update(rows, share);
    TenantMeters.update(rows, share);
    pool.counts().forEach(sample -> count(rows, sample));
  }

  private static void count(MeterRows rows, MetricSample sample) {
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
}
