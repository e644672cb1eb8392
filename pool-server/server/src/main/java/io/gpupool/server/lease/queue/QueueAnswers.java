// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.control.v1.Cause;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import java.time.Duration;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The answers to requests that are not granted here: they are counted, logged and given to the
 * client. Owned by the control thread.
 */
final class QueueAnswers {
  private static final Logger LOG = LoggerFactory.getLogger(QueueAnswers.class);

  private final ServerMetrics metrics;
  private final boolean isShared;

  /**
   * Makes the answers of a queue.
   *
   * @param isShared whether other servers may serve what this one does not
   */
  QueueAnswers(ServerMetrics metrics, boolean isShared) {
    this.metrics = metrics;
    this.isShared = isShared;
  }

  void refuse(QueueEntry entry, Cause cause, String reason) {
    LOG.info("lease refused: asked for {}; {}", entry.spec().requirements().describe(), reason);
    refuseQuietly(entry, cause, reason);
  }

  /** Refuses without a line in the log, where a flood of requests would fill it. */
  void refuseQuietly(QueueEntry entry, Cause cause, String reason) {
    entry.cancelLimit();
    String label = cause.name().substring("CAUSE_".length()).toLowerCase(Locale.ROOT);
    metrics.add(Metric.REQUESTS_REFUSED, 1, entry.spec().tenant(), label);
    entry
        .client()
        .refused(cause, "asked for " + entry.spec().requirements().describe() + "; " + reason);
  }

  /** Refuses a request that has waited for as long as its client wanted. */
  void refuseExpired(QueueEntry entry) {
    Duration limit = Duration.ofMillis(entry.spec().waitMillis());
    String waited = limit.toString().substring(2).toLowerCase(Locale.ROOT);
    QueuePosition position = entry.position();
    refuse(entry, position.cause(), "waited " + waited + "; " + position.reason());
  }

  /** Has the client ask another server, if it can. */
  void redirect(QueueEntry entry, String reason) {
    if (isShared && entry.identity().isPresent()) {
      entry.cancelLimit();
      entry.client().redirected(reason);
    } else {
      refuse(entry, Cause.CAUSE_NO_CAPACITY, "the server cannot grant it: " + reason);
    }
  }
}
