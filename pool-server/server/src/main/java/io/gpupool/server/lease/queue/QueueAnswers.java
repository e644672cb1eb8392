// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
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

  void refuse(QueueEntry entry, RejectionReason reason) {
    answer(entry, refusal(entry, reason, 0));
  }

  /** Refuses without a line in the log, where a flood of requests would fill it. */
  void refuseQuietly(QueueEntry entry, RejectionReason reason) {
    answerQuietly(entry, refusal(entry, reason, 0));
  }

  /** Refuses a request that has waited for as long as its client wanted. */
  void refuseExpired(QueueEntry entry) {
    answer(entry, refusal(entry, entry.position().reason(), entry.spec().waitMillis()));
  }

  private static LeaseRefusal refusal(QueueEntry entry, RejectionReason reason, long waitedMillis) {
    return new LeaseRefusal(reason, entry.spec().requirements().describe(), waitedMillis);
  }

  private void answer(QueueEntry entry, LeaseRefusal refusal) {
    LOG.info("lease refused: {}", refusal.text());
    answerQuietly(entry, refusal);
  }

  private void answerQuietly(QueueEntry entry, LeaseRefusal refusal) {
    entry.cancelLimit();
    String label =
        refusal.reason().cause().name().substring("CAUSE_".length()).toLowerCase(Locale.ROOT);
    metrics.add(Metric.REQUESTS_REFUSED, 1, entry.spec().tenant(), label);
    entry.client().refused(refusal);
  }

  /** Has the client ask another server, if it can. */
  void redirect(QueueEntry entry, String reason) {
    if (isShared && entry.identity().isPresent()) {
      entry.cancelLimit();
      entry.client().redirected(reason);
    } else {
      refuse(entry, new RejectionReason.NotRecorded(reason));
    }
  }
}
