// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.server.view.PoolReader;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A thread that keeps the pool's meters up to date in a registry that sends them elsewhere. Where
 * meters are scraped, each scrape reads its own.
 */
public final class PoolReporter implements AutoCloseable {
  private final PoolReader pool;
  private final MeterRows rows;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("gpupool-metrics").factory());

  private PoolReporter(PoolReader pool, MeterRegistry registry) {
    this.pool = pool;
    rows = new MeterRows(registry);
  }

  /** Begins at once. */
  public static PoolReporter start(PoolReader pool, MeterRegistry registry, Duration step) {
    PoolReporter reporter = new PoolReporter(pool, registry);
    long nanos = step.toNanos();
    var _ = reporter.thread.scheduleAtFixedRate(reporter::update, 0, nanos, TimeUnit.NANOSECONDS);
    return reporter;
  }

  private void update() {
    pool.whole().thenAcceptAsync(snapshot -> PoolMeters.update(rows, snapshot), thread);
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
