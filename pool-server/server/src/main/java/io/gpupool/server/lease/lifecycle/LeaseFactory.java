// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import java.io.IOException;
import java.util.List;

/**
 * A factory of leases from their records. A lease with GPUs of this server gets a ledger and an
 * entry in the time table. Owned by the control thread.
 */
final class LeaseFactory {
  private static final long NANOS_PER_MILLI = 1_000_000;

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
    LeaseTopology topology = LeaseTopology.of(parts, members);
    Lease lease =
        topology.isRemote()
            ? make(id, record, topology, LeaseLedger.remote(), LeaseTime.remote(times))
            : makeLocal(id, record, topology);
    lease.startAtHolderRevision(store.holderRevision(id));
    return lease;
  }

  private Lease makeLocal(LeaseId id, GrantRecord record, LeaseTopology topology)
      throws IOException {
    LeaseTime time = new LeaseTime(times, topology.own(), record.leaseClass(), timers.nowNanos());
    try {
      LeaseLedger ledger = new LeaseLedger("gpupool-" + id, topology.own().size());
      return make(id, record, topology, ledger, time);
    } catch (IOException e) {
      time.close();
      throw e;
    }
  }

  private Lease make(
      LeaseId id, GrantRecord record, LeaseTopology topology, LeaseLedger ledger, LeaseTime time) {
    long ageMillis = Math.max(0, timers.wallMillis() - record.grantedAtMillis());
    long grantedAtNanos = timers.nowNanos() - NANOS_PER_MILLI * ageMillis;
    LeaseClock clock = new LeaseClock(record.limits(), grantedAtNanos, timers.nowNanos());
    return new Lease(id, record, topology, ledger, time, clock, grantedAtNanos);
  }
}
