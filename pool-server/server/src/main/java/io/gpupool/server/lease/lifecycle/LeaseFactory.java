// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.usage.FormerLease;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A factory of leases from their records. A lease with GPUs of this server gets a ledger and an
 * entry in the time table. Owned by the control thread.
 */
final class LeaseFactory {
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseFactory.class);

  private final LeaseStore store;
  private final Members members;
  private final Timers timers;
  private final GpuScheduleTable times;

  LeaseFactory(LeaseStore store, Members members, Timers timers, GpuScheduleTable times) {
    this.store = store;
    this.members = members;
    this.timers = timers;
    this.times = times;
  }

  /**
   * Makes a lease, which the caller must close.
   *
   * @throws IOException if a GPU has as many leases as there can be, or for want of files
   */
  Lease make(LeaseId id, GrantRecord record, List<Part> parts) throws IOException {
    return make(id, record, parts, null);
  }

  /**
   * The same for a lease of which the server's former process may have left something.
   *
   * @param former what it has left; null: nothing
   */
  Lease make(LeaseId id, GrantRecord record, List<Part> parts, @Nullable FormerLease former)
      throws IOException {
    LeaseTopology topology = LeaseTopology.of(parts, members);
    Lease lease =
        topology.isRemote()
            ? make(id, record, topology, LeaseLedger.remote(), LeaseTime.remote(times))
            : makeLocal(id, record, topology, former);
    lease.startAtHolderRevision(store.holderRevision(id));
    return lease;
  }

  private Lease makeLocal(
      LeaseId id, GrantRecord record, LeaseTopology topology, @Nullable FormerLease former)
      throws IOException {
    LeaseTime time = time(id, record, topology.own(), former);
    try {
      LeaseLedger ledger = LeaseLedger.of("gpupool-" + id, topology.own().size(), former);
      return make(id, record, topology, ledger, time);
    } catch (IOException e) {
      time.close();
      throw e;
    }
  }

  private LeaseTime time(
      LeaseId id, GrantRecord record, List<Part> own, @Nullable FormerLease former)
      throws IOException {
    long nowNanos = timers.nowNanos();
    if (former != null) {
      try {
        return new LeaseTime(
            times, own, record.leaseClass(), former, nowNanos, timers.wallMillis());
      } catch (IOException e) {
        LOG.warn("lease {} goes on without its sessions: {}", id, e.getMessage());
      }
    }
    return new LeaseTime(times, own, record.leaseClass(), nowNanos);
  }

  private Lease make(
      LeaseId id, GrantRecord record, LeaseTopology topology, LeaseLedger ledger, LeaseTime time) {
    long ageMillis = Math.max(0, timers.wallMillis() - record.grantedAtMillis());
    long grantedAtNanos = timers.nowNanos() - NANOS_PER_MILLI * ageMillis;
    LeaseClock clock = new LeaseClock(record.limits(), grantedAtNanos, timers.nowNanos());
    return new Lease(id, record, topology, ledger, time, clock, grantedAtNanos);
  }
}
