// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.server;

import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.DrainedLease;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ServerInfo;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The progress of a drain that moves leases, of which each news is told once. */
final class DrainProgress {
  private static final long LOOK_MILLIS = 500;

  private final PoolClient client;
  private final Consumer<String> lines;
  private final Map<String, DrainedLease.State> told = new HashMap<>();

  /**
   * Of a drain.
   *
   * @param lines gets a line for each lease that moves or stays
   */
  DrainProgress(PoolClient client, Consumer<String> lines) {
    this.client = client;
    this.lines = lines;
  }

  /** Waits until no lease may move any more. Returns the server as it is then. */
  ServerInfo follow(ServerInfo drained) throws InterruptedException {
    ServerInfo server = drained;
    tell(server);
    while (isUnderWay(server)) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
      server = look(server);
      tell(server);
    }
    return server;
  }

  private ServerInfo look(ServerInfo before) {
    return client.blocking().listServers(ListRequest.getDefaultInstance()).getServersList().stream()
        .filter(server -> server.getName().equals(before.getName()))
        .findFirst()
        .orElseThrow(() ->
            new IllegalStateException(
                "server " + before.getName() + " is not in the pool any more"));
  }

  /** Returns whether leases may still move, or what they had is not free yet. */
  static boolean isUnderWay(ServerInfo server) {
    boolean isPending = server.getDrainedLeasesList().stream().anyMatch(DrainProgress::isPending);
    boolean isUnknown = server.getLeases() > 0 && server.getDrainedLeasesCount() == 0;
    return switch (server.getState()) {
      case STATE_DRAINING -> isPending || isUnknown || server.getLeases() == 0;
      case STATE_STOPPING -> isPending || isUnknown;
      default -> false;
    };
  }

  private static boolean isPending(DrainedLease lease) {
    return lease.getState() == DrainedLease.State.STATE_WAITING
        || lease.getState() == DrainedLease.State.STATE_MOVING;
  }

  private void tell(ServerInfo server) {
    for (DrainedLease lease : server.getDrainedLeasesList()) {
      boolean isNews =
          switch (lease.getState()) {
            case STATE_MOVED, STATE_STAYS -> true;
            case STATE_WAITING -> !lease.getReason().isEmpty();
            default -> false;
          };
      if (isNews && told.put(lease.getLeaseId(), lease.getState()) != lease.getState()) {
        lines.accept(line(lease));
      }
    }
  }

  static String line(DrainedLease lease) {
    String id = lease.getLeaseId();
    return switch (lease.getState()) {
      case STATE_MOVED ->
          id
              + " -> "
              + lease.getServer()
              + "/"
              + lease.getGpu()
              + "  pause "
              + lease.getPauseMillis()
              + " ms";
      case STATE_STAYS -> id + " stays: " + lease.getReason();
      default -> id + " waits: " + lease.getReason();
    };
  }
}
