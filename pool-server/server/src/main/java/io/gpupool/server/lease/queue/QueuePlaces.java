// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.identity.Role;
import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.rejection.RejectionReason.QueueFull.Scope;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The places of this server's queue, by number. No tenant and no token gets all of them. Owned by
 * the control thread.
 */
final class QueuePlaces {
  private final QueueLimits limits;
  private final Map<Long, QueueEntry> entries = new LinkedHashMap<>();
  private final Map<String, Integer> byTenant = new HashMap<>();
  private final Map<String, Integer> byCaller = new HashMap<>();

  QueuePlaces(QueueLimits limits) {
    this.limits = limits;
  }

  /** Returns why one more request has no place; empty if it has one. */
  Optional<RejectionReason.QueueFull> rejectionReason(LeaseSpec spec) {
    int own = byTenant.getOrDefault(spec.tenant(), 0);
    boolean admin = spec.principal().role() == Role.ADMIN;
    int limit = admin ? limits.perTenantByAdmin() : limits.perTenant();
    if (own >= limit) {
      return full(Scope.TENANT, spec.tenant(), own);
    }
    String caller = spec.principal().text();
    if (!admin && byCaller.getOrDefault(caller, 0) >= limits.perCaller()) {
      return full(Scope.CALLER, caller, limits.perCaller());
    }
    return entries.size() >= limits.perServer() && own >= limits.guaranteed()
        ? full(Scope.SERVER, "", limits.perServer())
        : Optional.empty();
  }

  private static Optional<RejectionReason.QueueFull> full(Scope scope, String name, int requests) {
    return Optional.of(new RejectionReason.QueueFull(scope, name, requests));
  }

  Optional<QueueEntry> find(long number) {
    return Optional.ofNullable(entries.get(number));
  }

  /** The entry of a request that its client makes again. */
  Optional<QueueEntry> find(RequestIdentity identity) {
    return find(identity.key());
  }

  /** The entry of a request by the key of its identity. */
  Optional<QueueEntry> find(String key) {
    return entries.values().stream()
        .filter(entry -> entry.identity().filter(known -> known.key().equals(key)).isPresent())
        .findFirst();
  }

  /** Adds an entry, in place of the one with its number. */
  void put(QueueEntry entry) {
    find(entry.request().number()).ifPresent(this::take);
    entries.put(entry.request().number(), entry);
    byTenant.merge(entry.spec().tenant(), 1, Integer::sum);
    byCaller.merge(entry.spec().principal().text(), 1, Integer::sum);
  }

  /** Removes an entry. Returns whether it was there. */
  boolean remove(QueueEntry entry) {
    boolean isThere = contains(entry);
    take(entry);
    return isThere;
  }

  /** Removes an entry, if it is there. */
  void take(QueueEntry entry) {
    if (entries.remove(entry.request().number(), entry)) {
      byTenant.computeIfPresent(entry.spec().tenant(), QueuePlaces::less);
      byCaller.computeIfPresent(entry.spec().principal().text(), QueuePlaces::less);
    }
  }

  boolean contains(QueueEntry entry) {
    return entries.get(entry.request().number()) == entry;
  }

  int size() {
    return entries.size();
  }

  Collection<QueueEntry> all() {
    return entries.values();
  }

  /** A copy, so that entries may leave while a caller goes through it. */
  List<QueueEntry> copy() {
    return List.copyOf(entries.values());
  }

  private static @Nullable Integer less(String key, int count) {
    return count == 1 ? null : count - 1;
  }
}
