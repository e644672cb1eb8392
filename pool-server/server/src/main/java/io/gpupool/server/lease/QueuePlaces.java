// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.LeaseQueue.QueuedRequest;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.records.LeaseSpec;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The requests that wait at this server, by number, of which no tenant and no token has all places.
 * Owned by the control thread.
 */
final class QueuePlaces {
  private final QueueLimits limits;
  private final Map<Long, QueuedRequest> entries = new LinkedHashMap<>();
  private final Map<String, Integer> byTenant = new HashMap<>();
  private final Map<String, Integer> byCaller = new HashMap<>();

  QueuePlaces(QueueLimits limits) {
    this.limits = limits;
  }

  /** Why one more request has no place. */
  Optional<String> refusal(LeaseSpec request) {
    int own = byTenant.getOrDefault(request.tenant(), 0);
    boolean admin = request.actor().role() == Role.ADMIN;
    int limit = admin ? limits.perTenantByAdmin() : limits.perTenant();
    if (own >= limit) {
      return Optional.of(
          named(request.tenant())
              + " has "
              + own
              + " requests in the queue already (--tenant-requests); withdraw some");
    }
    String caller = request.actor().text();
    if (!admin && byCaller.getOrDefault(caller, 0) >= limits.perCaller()) {
      return Optional.of(
          "'"
              + caller
              + "' has "
              + limits.perCaller()
              + " requests in the queue already, half of the places of its tenant"
              + " (--tenant-requests); withdraw some");
    }
    if (entries.size() >= limits.perServer() && own >= limits.guaranteed()) {
      return Optional.of(
          "all " + limits.perServer() + " places in this server's queue are taken; ask later");
    }
    return Optional.empty();
  }

  Optional<QueuedRequest> find(long number) {
    return Optional.ofNullable(entries.get(number));
  }

  /** Adds an entry, in place of the one with its number. */
  void put(QueuedRequest entry) {
    find(entry.number()).ifPresent(this::remove);
    entries.put(entry.number(), entry);
    byTenant.merge(entry.request.tenant(), 1, Integer::sum);
    byCaller.merge(entry.request.actor().text(), 1, Integer::sum);
  }

  /** Whether it was there. */
  boolean remove(QueuedRequest entry) {
    if (!entries.remove(entry.number(), entry)) {
      return false;
    }
    byTenant.computeIfPresent(entry.request.tenant(), QueuePlaces::less);
    byCaller.computeIfPresent(entry.request.actor().text(), QueuePlaces::less);
    return true;
  }

  boolean contains(QueuedRequest entry) {
    return entries.get(entry.number()) == entry;
  }

  int size() {
    return entries.size();
  }

  Collection<QueuedRequest> all() {
    return entries.values();
  }

  /** A copy, so that entries may leave while a caller goes through it. */
  List<QueuedRequest> copy() {
    return List.copyOf(entries.values());
  }

  private static Integer less(String key, int count) {
    return count == 1 ? null : count - 1;
  }

  private static String named(String tenant) {
    return tenant.isEmpty() ? "whoever has no tenant" : "tenant '" + tenant + "'";
  }
}
