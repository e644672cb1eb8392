// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.state.StateException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reaper of the leases on the GPUs of dead servers, and of what moves have left there. One server
 * of the cluster reaps for all. Owned by the control thread.
 */
final class DeadServerReaper {
  /** How long a server may be gone at least before its leases are; after etcd has given it up. */
  static final long GRACE_MILLIS = 60_000;

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final Logger LOG = LoggerFactory.getLogger(DeadServerReaper.class);

  private final LeaseStore store;
  private final Members members;
  private final Timers timers;
  private Map<LeaseId, Long> deadSinceNanos = Map.of();

  /** Since when a server has been dead that has something of a move to clear, by move. */
  private Map<String, Long> unclearedSinceNanos = Map.of();

  DeadServerReaper(LeaseStore store, Members members, Timers timers) {
    this.store = store;
    this.members = members;
    this.timers = timers;
  }

  /** Ends leases whose servers have been dead for long, and frees those that were ending. */
  void reap() {
    Map<LeaseId, Long> since = new HashMap<>();
    long nowNanos = timers.nowNanos();
    store.forEach((id, record) -> {
      List<String> dead =
          record.parts().stream()
              .map(part -> part.gpu().server())
              .distinct()
              .filter(server -> !members.lives(server))
              .toList();
      if (dead.isEmpty()) {
        return;
      }
      long sinceNanos = deadSinceNanos.getOrDefault(id, nowNanos);
      since.put(id, sinceNanos);
      if (isDue(record, nowNanos - sinceNanos)) {
        reap(id, dead);
      }
    });
    deadSinceNanos = since;
    reapMoves(nowNanos);
  }

  private void reapMoves(long nowNanos) {
    Map<String, Long> since = new HashMap<>();
    store
        .moves()
        .all()
        .forEach((id, move) -> {
          String server = move.loser().server();
          if (move.isUnderWay() && !members.lives(server)) {
            long sinceNanos = unclearedSinceNanos.getOrDefault(move.id(), nowNanos);
            since.put(move.id(), sinceNanos);
            if (nowNanos - sinceNanos >= GRACE_MILLIS * NANOS_PER_MILLI) {
              reap(id, move);
            }
          }
        });
    unclearedSinceNanos = since;
  }

  private void reap(LeaseId id, MoveRecord move) {
    String server = move.loser().server();
    try {
      if (move.isPreparing()) {
        store.moves().fail(id, move.id(), "server " + server + " is gone");
      }
      store.moves().clear(id, move.loser());
      LOG.info("lease {} has nothing of server {} any more, which is gone", id, server);
    } catch (StateException e) {
      LOG.warn("lease {} keeps room at a server that is gone: {}", id, e.getMessage());
    }
  }

  private static boolean isDue(GrantRecord record, long deadNanos) {
    long graceMillis = Math.max(GRACE_MILLIS, record.limits().resumeWindowMillis());
    return record.isEnding() || deadNanos >= graceMillis * NANOS_PER_MILLI;
  }

  private void reap(LeaseId id, List<String> dead) {
    try {
      for (String server : dead) {
        store.endOfGone(id, server);
        LOG.info("lease {} ends: server {} is gone", id, server);
      }
    } catch (StateException e) {
      LOG.warn("lease {} of a server that is gone stays: {}", id, e.getMessage());
    }
  }
}
