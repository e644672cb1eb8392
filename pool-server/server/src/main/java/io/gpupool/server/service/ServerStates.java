// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.IdleServerTracker;

/** The states of the pool's servers: whether they drain, and since when they are idle. */
public record ServerStates(Drains drains, IdleServerTracker idleServers) {
  boolean isStopping() {
    return drains.isStopping();
  }

  /** What a server does: {@code ready}, {@code draining}, {@code drained} or {@code stopping}. */
  String state(String server) {
    return drains.state(server);
  }

  /** The time since a server's last lease ended; 0: it has some. */
  long idleMillis(String server) {
    return idleServers.idleMillis(server);
  }

  /** When a draining server ends its leases, since 1970; 0: not at all. */
  long drainDeadlineAtMillis(String server) {
    return drains.of(server).stream()
        .flatMapToLong(drain -> drain.deadlineAtMillis().stream())
        .findFirst()
        .orElse(0);
  }
}
