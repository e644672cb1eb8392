// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.Versioned;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;

/**
 * A monitor of the other servers that have GPUs of a lease: whether one of them is gone, and
 * whether programs of the lease are at work there. Owned by the control thread.
 */
public final class PeerServerMonitor {
  /** How long one may be away at least, as it is when etcd has been. */
  static final long GONE_MILLIS = 5000;

  /** What a server tells of its leases may be as old as that. */
  static final long TOLD_MILLIS = 4000;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final RecordStore records;
  private final Members members;
  private final Timers timers;

  /**
   * Since when one of a lease's servers has been gone; without an entry, all are there. An entry
   * goes with its lease.
   */
  private final Map<Lease, Long> goneSinceNanos = new WeakHashMap<>();

  public PeerServerMonitor(RecordStore records, Members members, Timers timers) {
    this.records = records;
    this.members = members;
    this.timers = timers;
  }

  /** Why the lease is over, if one of its servers has been gone for long enough. */
  Optional<String> expiryReason(Lease lease) {
    LeaseTopology topology = lease.topology();
    List<String> gone =
        topology.spans()
            ? topology.servers().stream().filter(server -> !isThere(server)).toList()
            : List.of();
    if (gone.isEmpty()) {
      goneSinceNanos.remove(lease);
      return Optional.empty();
    }
    long nowNanos = timers.nowNanos();
    long sinceNanos = goneSinceNanos.computeIfAbsent(lease, monitored -> nowNanos);
    String first = gone.getFirst();
    // It may be restarted meanwhile, without its sessions.
    long limitMillis = Math.max(GONE_MILLIS, lease.resumeWindowMillis());
    return nowNanos - sinceNanos < limitMillis * NANOS_PER_MILLI
        ? Optional.empty()
        : Optional.of(
            "server "
                + first
                + ", which had "
                + topology.gpusOf(first)
                + " of its "
                + topology.parts().size()
                + " GPUs, is gone");
  }

  private boolean isThere(String server) {
    return members.isThis(server) || members.lives(server);
  }

  /** Shows a lease's clock what its programs have done at the other servers, as far as is told. */
  public void noteWork(Lease lease) {
    for (String server : lease.topology().servers()) {
      Optional<ServerStatus> told =
          members.isThis(server)
              ? Optional.empty()
              : records.get(RecordTypes.SERVER_STATUSES, server).map(Versioned::value);
      Optional<LeaseInfo> there = told.flatMap(status -> status.lease(lease.id()));
      if (there.isPresent()) {
        long ageMillis = timers.wallMillis() - told.get().atMillis();
        long idleMillis = there.get().getIdleMillis() + ageMillis - TOLD_MILLIS;
        lease.clock().noteElsewhere(Math.max(0, idleMillis), timers.nowNanos());
      }
    }
  }
}
