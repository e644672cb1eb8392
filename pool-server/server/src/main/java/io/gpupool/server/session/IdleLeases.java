// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.suspend.LeaseSuspensions;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.StateException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leases of this server that are to be suspended when their programs have been idle for long
 * enough. Owned by the control thread.
 */
final class IdleLeases {
  /** A lease that cannot be suspended is tried again after that long, or its idle time. */
  private static final long AGAIN_MILLIS = 60_000;

  private static final Logger LOG = LoggerFactory.getLogger(IdleLeases.class);

  private final LeaseService leases;
  private final Sessions sessions;
  private final Timers timers;
  private final LeaseSuspensions suspensions;

  /** The suspensions that were begun here, and the idle time for which. */
  private final Map<LeaseId, Begun> begun = new HashMap<>();

  /** A suspension for want of work. */
  private record Begun(String suspension, long idleMillis, long atNanos) {}

  IdleLeases(LeaseService leases, Sessions sessions, Timers timers) {
    this.leases = leases;
    this.sessions = sessions;
    this.timers = timers;
    suspensions = new LeaseSuspensions(leases.store(), timers);
  }

  /** Returns the time for which the programs of a lease must be idle when it is suspended. */
  long leastMillis(SuspensionRecord record) {
    return begun.values().stream()
        .filter(of -> of.suspension().equals(record.id()))
        .mapToLong(Begun::idleMillis)
        .findFirst()
        .orElse(0);
  }

  /** Begins to suspend what has been idle for long enough. */
  void suspend() {
    begun.keySet().removeIf(id -> leases.get(id).isEmpty());
    for (Lease lease : leases.all()) {
      long idleMillis = lease.clock().limits().suspendIdleMillis();
      if (idleMillis > 0 && lease.topology().isHome() && isIdle(lease, idleMillis)) {
        suspend(lease, idleMillis);
      }
    }
  }

  private boolean isIdle(Lease lease, long idleMillis) {
    lease.noteWork(timers.nowNanos());
    return lease.state().isAlive()
        && lease.clock().idleMillis(timers.nowNanos()) >= idleMillis
        && sessions.of(lease).stream().anyMatch(Session::isServed)
        && isDue(lease, idleMillis);
  }

  /** Returns whether a lease that could not be suspended before may be tried again. */
  private boolean isDue(Lease lease, long idleMillis) {
    Begun last = begun.get(lease.id());
    if (last == null) {
      return true;
    }
    long passedNanos = timers.nowNanos() - last.atNanos();
    return passedNanos >= TimeUnit.MILLISECONDS.toNanos(Math.max(AGAIN_MILLIS, idleMillis))
        || leases
            .store()
            .suspensions()
            .get(lease.id())
            .filter(record -> record.isOver() && record.id().equals(last.suspension()))
            .filter(record -> !record.result().reason().equals(Suspending.WORKS_AGAIN))
            .isEmpty();
  }

  private void suspend(Lease lease, long idleMillis) {
    if (leases.store().suspensions().isSuspended(lease.id())) {
      return;
    }
    try {
      String id = suspensions.begin(lease.id().text(), true, Principal.POOL).id();
      begun.put(lease.id(), new Begun(id, idleMillis, timers.nowNanos()));
      LOG.info("lease {} has been idle for {} s", lease.id(), idleMillis / 1000);
    } catch (RefusedException | StateException e) {
      LOG.debug("lease {} is idle, and not suspended: {}", lease.id(), e.getMessage());
    }
  }
}
