// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.lease.model.LeaseState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** The log of what happens to leases. */
final class LeaseLog {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseService.class);

  private LeaseLog() {}

  /** A line that has the lease and its tenant as fields, too. */
  static LoggingEventBuilder info(Lease lease) {
    return LOG.atInfo()
        .addKeyValue("lease", lease.id().text())
        .addKeyValue("tenant", lease.tenant());
  }

  /** Logs a change of state, if people want to know of it. */
  static void step(Lease lease, LeaseEvent event, LeaseState before) {
    if (lease.state().phase() == before.phase()) {
      return;
    }
    if (lease.state() instanceof LeaseState.Ending(String reason)) {
      info(lease).log("lease {} ends: {}", lease.id(), reason);
    } else if (event == LeaseEvent.FREED) {
      info(lease).log("lease {} is gone", lease.id());
    } else if (event == LeaseEvent.HOLDER_CAME) {
      LOG.info("lease {}: its holder is back", lease.id());
    } else if (event == LeaseEvent.HOLDER_LEFT) {
      LOG.debug("lease {}: its holder's connection has ended", lease.id());
    }
  }
}
