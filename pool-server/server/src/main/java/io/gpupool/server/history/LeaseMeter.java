// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.placement.Placement.Part;

/**
 * A meter of one lease's use of one of its GPUs since the last reading. The counters of workers are
 * not trusted: a reading never goes back, and never exceeds the time that has passed.
 */
final class LeaseMeter {
  private final LeaseLabel name;
  private long grantedNanos;
  private long usedNanos;
  private long waitedNanos;

  LeaseMeter(Lease lease) {
    name = LeaseLabel.of(lease.id().text(), lease.tenant(), lease.holder());
  }

  /**
   * Reads it.
   *
   * @param own which of the lease's GPUs on this server
   */
  LeaseSample read(Lease lease, int own, long nowNanos) {
    LeaseTime time = lease.time();
    GpuScheduleTable.Use use = time.use(own);
    long age = time.ageNanos(nowNanos);
    long granted = Math.max(grantedNanos, time.grantedNanos(own, nowNanos));
    long used = Math.clamp(use.usedNanos(), usedNanos, Math.max(usedNanos, age));
    long waited =
        Math.clamp(use.waitedNanos(), waitedNanos, Math.max(waitedNanos, age * Lease.MAX_SESSIONS));
    Part part = lease.topology().own().get(own);
    LeaseSample portion =
        new LeaseSample(
            name,
            granted - grantedNanos,
            used - usedNanos,
            waited - waitedNanos,
            Math.min(lease.ledger().usedBytes(own), part.share().memoryBytes()),
            part.share().memoryBytes());
    grantedNanos = granted;
    usedNanos = used;
    waitedNanos = waited;
    return portion;
  }
}
