// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.JsonForm;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.MeterRows;
import io.micrometer.core.instrument.Tags;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The meters of a server's leases and sessions. */
final class LeaseMeters {
  private static final List<String> LEASE_STATES = List.of("held", "grace", "ending");
  private static final List<String> SESSION_STATES =
      List.of("opening", "joining", "attached", "disconnected", "ending");

  private LeaseMeters() {}

  static void update(MeterRows rows, PoolSnapshot pool) {
    rows.gauge(
        "gpupool.leases",
        "",
        "Leases by state",
        countByState(
            pool.leases().stream().filter(lease -> isCountedAt(pool.server(), lease)).toList(),
            lease -> JsonForm.text(lease.getState()),
            LEASE_STATES));
    rows.gauge(
        "gpupool.sessions",
        "",
        "Program processes by state of their session",
        countByState(
            pool.sessions(), session -> JsonForm.text(session.getState()), SESSION_STATES));
    rows.gauge(
        "gpupool.sessions.disconnected",
        "",
        "Program processes whose connection is lost and may come back",
        Map.of(
            Tags.empty(),
            (double)
                pool.sessions().stream()
                    .filter(session -> session.getState() == SessionInfo.State.STATE_DISCONNECTED)
                    .count()));
  }

  /** Returns whether a server is the first, and so the one that counts the lease. */
  private static boolean isCountedAt(String server, LeaseInfo lease) {
    return lease.getGrantsCount() > 0 && lease.getGrants(0).getGrant().getServer().equals(server);
  }

  private static <T> Map<Tags, Double> countByState(
      List<T> things, Function<T, String> state, List<String> states) {
    return states.stream()
        .collect(
            Collectors.toMap(
                name -> Tags.of("state", name),
                name ->
                    (double)
                        things.stream().filter(thing -> state.apply(thing).equals(name)).count()));
  }
}
