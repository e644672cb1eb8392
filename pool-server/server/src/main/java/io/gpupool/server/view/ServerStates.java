// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.DrainedLease;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.IdleServerTracker;
import io.gpupool.server.records.Drain;
import java.util.List;

/** The states of the pool's servers: whether they drain, and since when they are idle. */
public record ServerStates(Drains drains, IdleServerTracker idleServers) {
  boolean isStopping() {
    return drains.isStopping();
  }

  /** Returns the state of a server as a message. */
  ServerInfo.State state(String server) {
    return switch (drains.state(server)) {
      case READY -> ServerInfo.State.STATE_READY;
      case DRAINING -> ServerInfo.State.STATE_DRAINING;
      case DRAINED -> ServerInfo.State.STATE_DRAINED;
      case STOPPING -> ServerInfo.State.STATE_STOPPING;
    };
  }

  /** The time since a server's last lease ended; 0: it has some. */
  long idleMillis(String server) {
    return idleServers.idleMillis(server);
  }

  /** When a draining server ends its leases, since 1970; 0: not at all. */
  long drainDeadlineAtMillis(String server) {
    return drains.of(server).map(Drain::deadlineAtMillis).orElse(0L);
  }

  /** The leases that a draining server is to move. */
  List<DrainedLease> drainedLeases(String server) {
    return drains.of(server).map(Drain::leases).orElse(List.of()).stream()
        .map(ServerStates::message)
        .toList();
  }

  private static DrainedLease message(io.gpupool.server.records.DrainedLease lease) {
    DrainedLease.Builder message =
        DrainedLease.newBuilder()
            .setLeaseId(lease.id().text())
            .setState(
                switch (lease.state()) {
                  case WAITING -> DrainedLease.State.STATE_WAITING;
                  case MOVING -> DrainedLease.State.STATE_MOVING;
                  case MOVED -> DrainedLease.State.STATE_MOVED;
                  case STAYS -> DrainedLease.State.STATE_STAYS;
                })
            .setPauseMillis(lease.pauseMillis())
            .setReason(lease.reason());
    if (lease.to() != null) {
      message.setServer(lease.to().server()).setGpu(lease.to().ordinal());
    }
    return message.build();
  }
}
