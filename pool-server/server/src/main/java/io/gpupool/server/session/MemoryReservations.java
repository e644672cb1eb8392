// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.host.HostMemory;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.wire.ByteSize;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The memory left for further workers. Each session has a claim to {@code workerBytes}, part of
 * which its worker uses already, and the server has a claim of its own; the rest is free. Owned by
 * the control thread.
 */
final class MemoryReservations {
  private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** A tenant leaves at least one part for others when it has taken so many. */
  private static final int PARTS_OF_ONE_TENANT = 3;

  private final HostMemory memory;
  private final SessionLimits limits;
  private final Timers timers;
  private long sampledAtNanos;
  private long roomBytes;

  MemoryReservations(HostMemory memory, SessionLimits limits, Timers timers) {
    this.memory = memory;
    this.limits = limits;
    this.timers = timers;
  }

  /**
   * Why there is no memory for one more session of a tenant. The first session of all is always let
   * in, so that a small machine can be used, too.
   */
  Optional<String> refusal(String tenant, Collection<Session> sessions) {
    if (sessions.isEmpty()) {
      sampledAtNanos = 0;
      return Optional.empty();
    }
    if (sampledAtNanos == 0 || timers.nowNanos() - sampledAtNanos > SAMPLE_NANOS) {
      sampledAtNanos = timers.nowNanos();
      roomBytes = measure(sessions);
    }
    long worker = limits.workerBytes();
    if (roomBytes < worker) {
      return Optional.of(
          "this server has "
              + new ByteSize(Math.max(0, roomBytes))
              + " of memory left for workers, and a session takes "
              + new ByteSize(worker)
              + " (--worker-memory); end some programs, or try again later");
    }
    long own = sessions.stream().filter(session -> session.lease().tenant().equals(tenant)).count();
    if (!tenant.isEmpty()
        && own > 0
        && (own + 1) * worker > PARTS_OF_ONE_TENANT * (roomBytes - worker)) {
      return Optional.of(
          "tenant '"
              + tenant
              + "' has "
              + own
              + " sessions, and this server's last "
              + new ByteSize(roomBytes)
              + " of memory for workers are kept for other tenants; end some of its programs");
    }
    // Until the next sample, the new session counts with all of its claim.
    roomBytes -= worker;
    return Optional.empty();
  }

  private long measure(Collection<Session> sessions) {
    long room = memory.availableBytes() - unused(limits.reservedBytes(), ownPid());
    for (Session session : sessions) {
      room -= unused(limits.workerBytes(), session.workerPid());
    }
    return room;
  }

  /** What a process may still take of its claim. */
  private long unused(long claimBytes, long pid) {
    return Math.max(0, claimBytes - (pid == 0 ? 0 : memory.residentBytes(pid)));
  }

  private static long ownPid() {
    return ProcessHandle.current().pid();
  }
}
