// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.host.HostMemory;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.server.rejection.InvalidRequestException;
import java.util.Collection;
import java.util.Optional;

/**
 * The admission of new sessions, within the limits of their lease, their tenant, the server and the
 * memory for workers. Owned by the control thread.
 */
final class SessionAdmission {
  private final SessionLimits limits;
  private final MemoryReservations room;
  private final SessionRateLimiter rate;
  private final Timers timers;

  SessionAdmission(SessionLimits limits, HostMemory memory, Timers timers) {
    this.limits = limits;
    this.timers = timers;
    room = new MemoryReservations(memory, limits, timers);
    rate = new SessionRateLimiter(limits.perSecond(), timers::nowNanos);
  }

  /** Lets one more session of a lease in, and counts it as opened. */
  void admit(Lease lease, Collection<Session> sessions) throws InvalidRequestException {
    if (lease.sessions().size() >= limits.perLease()) {
      throw new InvalidRequestException(
          "lease "
              + lease.id()
              + " has "
              + limits.perLease()
              + " processes already (--lease-sessions); end some, or ask for another lease");
    }
    long own = sessions.stream().filter(s -> s.lease().tenant().equals(lease.tenant())).count();
    if (own >= limits.perTenant()) {
      throw new InvalidRequestException(
          named(lease.tenant(), "has", "have")
              + " "
              + own
              + " sessions on this server already (--tenant-sessions); end some programs");
    }
    if (sessions.size() >= limits.perServer()) {
      throw new InvalidRequestException(
          "this server has "
              + limits.perServer()
              + " sessions already (--sessions); wait for some to end");
    }
    if (!rate.take(lease.tenant())) {
      throw new InvalidRequestException(
          named(lease.tenant(), "opens", "open")
              + " more than "
              + limits.perSecond()
              + " sessions a second (--session-rate); start programs more slowly");
    }
    Optional<String> noMemory = room.refusal(lease.tenant(), sessions);
    if (noMemory.isPresent()) {
      throw new InvalidRequestException(noMemory.get());
    }
  }

  private static String named(String tenant, String verb, String pluralVerb) {
    return tenant.isEmpty()
        ? "callers without a tenant " + pluralVerb
        : "tenant '" + tenant + "' " + verb;
  }
}
