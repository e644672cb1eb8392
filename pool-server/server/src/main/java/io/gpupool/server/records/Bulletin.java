// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.placement.LeaseId;
import java.util.List;
import java.util.Optional;

/**
 * What only a server knows of itself, as it was at a time, for people who look through another.
 *
 * @param leases those on its GPUs that programs have used
 */
public record Bulletin(
    long atMillis, ServerInfo server, List<LeaseInfo> leases, List<SessionInfo> sessions) {
  public Bulletin {
    leases = List.copyOf(leases);
    sessions = List.copyOf(sessions);
  }

  public Optional<LeaseInfo> lease(LeaseId id) {
    return leases.stream().filter(lease -> lease.getId().equals(id.text())).findFirst();
  }

  /** The same without what changes by itself as time passes. */
  public Bulletin withoutAges() {
    return new Bulletin(
        0,
        server.toBuilder().clearUpMillis().clearIdleMillis().build(),
        leases.stream()
            .map(lease -> lease.toBuilder().clearAgeMillis().clearIdleMillis().build())
            .toList(),
        sessions.stream().map(session -> session.toBuilder().clearAgeMillis().build()).toList());
  }

  /** The same as it is at a later time, as far as is known. */
  public Bulletin at(long nowMillis) {
    long passed = Math.max(0, nowMillis - atMillis);
    return new Bulletin(
        nowMillis,
        server,
        leases.stream()
            .map(lease ->
                lease.getIdleMillis() == 0
                    ? lease
                    : lease.toBuilder().setIdleMillis(lease.getIdleMillis() + passed).build())
            .toList(),
        sessions.stream()
            .map(session ->
                session.toBuilder().setAgeMillis(session.getAgeMillis() + passed).build())
            .toList());
  }
}
