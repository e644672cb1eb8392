// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import java.util.ArrayList;
import java.util.List;

/** Leases on a GPU in a time of their own, served as {@link FairShares} says, step by step. */
final class SimulatedGpu implements FairShares.Leases {
  static final long STEP_NANOS = 100_000;

  private final List<Simulated> leases = new ArrayList<>();
  private long now = 1_000_000_000;
  private long virtualNow;
  private int holder = FairShares.NOBODY;
  private long turnStart;

  /** Whether a lease has work at a time. */
  interface Demand {
    boolean hasWork(long nanos);
  }

  /** One lease. */
  static final class Simulated {
    final int weight;
    final boolean hard;
    final Demand demand;
    long usedNanos;
    long longestWaitNanos;
    boolean latency;
    private long virtualTime;
    private long notBefore;
    private long waitsSince;

    Simulated(int weight, boolean hard, Demand demand) {
      this.weight = weight;
      this.hard = hard;
      this.demand = demand;
    }
  }

  Simulated add(int weight, boolean hard, Demand demand) {
    Simulated lease = new Simulated(weight, hard, demand);
    lease.virtualTime = virtualNow;
    lease.waitsSince = now;
    leases.add(lease);
    return lease;
  }

  /** One that serves requests. */
  Simulated serving(int weight, Demand demand) {
    Simulated lease = add(weight, false, demand);
    lease.latency = true;
    return lease;
  }

  Simulated busy(int weight) {
    return add(weight, false, nanos -> true);
  }

  void run(long nanos) {
    for (long end = now + nanos; now < end; now += STEP_NANOS) {
      decide();
      for (int i = 0; i < leases.size(); i++) {
        Simulated lease = leases.get(i);
        if (i == holder || !isActive(i, now)) {
          lease.waitsSince = now;
        }
        lease.longestWaitNanos = Math.max(lease.longestWaitNanos, now - lease.waitsSince);
      }
    }
    settle();
  }

  private void decide() {
    long held = now - turnStart;
    if (holder >= 0 && isActive(holder, now) && held < FairShares.timeSliceNanos(weight(holder))) {
      boolean askedBack = false;
      for (int i = 0; i < leases.size(); i++) {
        boolean asks = i != holder && isActive(i, now);
        askedBack |= asks && FairShares.mayRecall(this, i, now, holder, held);
      }
      if (!askedBack) {
        return;
      }
    }
    int next = FairShares.next(this, now, holder, holder >= 0 ? held : 0);
    settle();
    holder = next;
    turnStart = now;
    if (next >= 0) {
      virtualNow = Math.max(virtualNow, virtualTime(next));
    }
  }

  private void settle() {
    if (holder >= 0 && now > turnStart) {
      Simulated lease = leases.get(holder);
      long used = now - turnStart;
      lease.usedNanos += used;
      lease.virtualTime = FairShares.virtualTime(lease.virtualTime, virtualNow, used, lease.weight);
      lease.notBefore = FairShares.notBefore(lease.notBefore, now, used, lease.weight);
    }
    turnStart = now;
  }

  @Override
  public int count() {
    return leases.size();
  }

  @Override
  public long weight(int lease) {
    return leases.get(lease).weight;
  }

  @Override
  public boolean isHard(int lease) {
    return leases.get(lease).hard;
  }

  @Override
  public boolean isLatency(int lease) {
    return leases.get(lease).latency;
  }

  @Override
  public long virtualTime(int lease) {
    return leases.get(lease).virtualTime;
  }

  @Override
  public long notBefore(int lease) {
    return leases.get(lease).notBefore;
  }

  @Override
  public boolean isActive(int lease, long nowNanos) {
    return leases.get(lease).demand.hasWork(nowNanos);
  }

  @Override
  public long virtualNow() {
    return virtualNow;
  }
}
