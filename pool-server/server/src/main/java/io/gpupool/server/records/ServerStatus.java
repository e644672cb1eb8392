// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.placement.LeaseId;
import java.util.List;
import java.util.Optional;

/**
 * The status of a server at one time, which it publishes for callers of the other servers.
 *
 * @param leases those on its GPUs that programs have used
 */
public record ServerStatus(
    long atMillis, ServerInfo server, List<LeaseInfo> leases, List<SessionInfo> sessions) {
  public ServerStatus {
    leases = List.copyOf(leases);
    sessions = List.copyOf(sessions);
  }

  public Optional<LeaseInfo> lease(LeaseId id) {
    return leases.stream().filter(lease -> lease.getId().equals(id.text())).findFirst();
  }

  /** The same without what changes by itself as time passes. */
  public ServerStatus withoutAges() {
    return new ServerStatus(
        0,
        server.toBuilder().clearUpMillis().clearIdleMillis().build(),
        leases.stream().map(ServerStatus::withoutAges).toList(),
        sessions.stream().map(ServerStatus::withoutAges).toList());
  }

  private static SessionInfo withoutAges(SessionInfo session) {
    return session.toBuilder()
        .clearAgeMillis()
        .clearGrantedGpuNanos()
        .clearResumeMillisLeft()
        .build();
  }

  private static LeaseInfo withoutAges(LeaseInfo lease) {
    LeaseInfo.Builder steady = lease.toBuilder().clearAgeMillis().clearIdleMillis();
    steady.getGrantsBuilderList().forEach(GrantUse.Builder::clearGrantedGpuNanos);
    return steady.build();
  }

  /** The same as it is at a later time, as far as is known. */
  public ServerStatus at(long nowMillis) {
    long passed = Math.max(0, nowMillis - atMillis);
    return new ServerStatus(
        nowMillis,
        server,
        leases.stream().map(lease -> later(lease, passed)).toList(),
        sessions.stream().map(session -> later(session, passed)).toList());
  }

  /** What is granted grows by its share of the time. */
  private static LeaseInfo later(LeaseInfo lease, long passedMillis) {
    LeaseInfo.Builder later = lease.toBuilder();
    if (lease.getIdleMillis() > 0) {
      later.setIdleMillis(lease.getIdleMillis() + passedMillis);
    }
    for (GrantUse.Builder use : later.getGrantsBuilderList()) {
      double nanos = use.getGrant().getComputePercent() / 100 * passedMillis * 1_000_000;
      use.setGrantedGpuNanos(use.getGrantedGpuNanos() + (long) nanos);
    }
    return later.build();
  }

  /** What is granted grows as the session does; the rest of a resume window shrinks. */
  private static SessionInfo later(SessionInfo session, long passedMillis) {
    double growth = 1 + (double) passedMillis / Math.max(1, session.getAgeMillis());
    SessionInfo.Builder later =
        session.toBuilder()
            .setAgeMillis(session.getAgeMillis() + passedMillis)
            .setGrantedGpuNanos((long) (session.getGrantedGpuNanos() * growth));
    if (session.hasResumeMillisLeft()) {
      later.setResumeMillisLeft(Math.max(0, session.getResumeMillisLeft() - passedMillis));
    }
    return later.build();
  }
}
