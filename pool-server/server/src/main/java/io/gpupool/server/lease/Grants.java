// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * What is written down of leases. One commit changes the lease, the GPUs it is on and what its
 * tenant holds, on the condition that none of them has changed since it was looked at; so however
 * many servers grant, none grants what another has granted. Owned by the control thread.
 */
public final class Grants {

  private final RecordStore records;
  private final Audit audit;
  private final Timers timers;
  private final String server;
  private final IdAllocator ids;

  public Grants(RecordStore records, Audit audit, Timers timers, String server) {
    this.records = records;
    this.audit = audit;
    this.timers = timers;
    this.server = server;
    ids = new IdAllocator(records, "lease");
  }

  PeerServerMonitor partners(Members members) {
    return new PeerServerMonitor(records, members, timers);
  }

  LeaseId nextId() throws StateException {
    return new LeaseId("L" + ids.next());
  }

  GrantRecord record(LeaseSpec request, LeaseSecret.Hash secret, List<Part> parts) {
    return new GrantRecord(
        secret,
        request.holder(),
        request.tenant(),
        request.actor().token(),
        request.pod(),
        parts.stream()
            .map(part ->
                new GrantRecord.PartRecord(
                    GpuKey.of(part.gpu()),
                    part.partition(),
                    part.share(),
                    part.hard(),
                    ResourceUsage.milliGpus(part.gpu(), part.share())))
            .toList(),
        timers.wallMillis(),
        request.limits(),
        request.leaseClass(),
        Optional.empty());
  }

  /** What is written in the same commit as a lease. */
  interface Beside {
    void write(Transaction transaction) throws RefusedException;
  }

  void add(LeaseId id, GrantRecord grant, List<Part> parts, Principal principal)
      throws StateException, RefusedException {
    add(id, grant, parts, principal, transaction -> {});
  }

  void add(LeaseId id, GrantRecord grant, List<Part> parts, Principal principal, Beside beside)
      throws StateException, RefusedException {
    records.transact(transaction -> {
      beside.write(transaction);
      requireToken(transaction, grant);
      for (Part part : parts) {
        requireOpen(transaction, part.gpu());
        String key = GpuKey.of(part.gpu()).text();
        Division after =
            transaction
                .get(RecordTypes.DIVISIONS, key)
                .orElse(Division.UNDIVIDED)
                .take(new Allocation(id, part.partition(), part.share()), part.gpu().whole())
                .orElseThrow(() ->
                    new RefusedException(
                        RefusedException.Why.CHANGED,
                        part.gpu().label() + " has been granted to another meanwhile"));
        transaction.put(RecordTypes.DIVISIONS, key, after);
      }
      count(transaction, grant);
      transaction.put(RecordTypes.GRANTS, id.text(), grant);
      audit.note(transaction, principal, "lease.grant", id.text(), grant.holder().toString());
      return null;
    });
  }

  /**
   * Notes that a lease has ended, unless that is done already, and frees what it had of servers
   * where nothing of it is alive; it is forgotten with the last of its parts.
   *
   * @param dead servers, by name, where its workers are dead
   * @return whether it had not ended before
   */
  boolean end(LeaseId id, Predicate<String> dead, Principal principal, String reason)
      throws StateException {
    return records.transact(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      return grant.isPresent() && end(transaction, id, grant.get(), dead, principal, reason);
    });
  }

  private boolean end(
      Transaction transaction,
      LeaseId id,
      GrantRecord grant,
      Predicate<String> dead,
      Principal principal,
      String reason) {
    if (!grant.isEnding()) {
      audit.note(transaction, principal, "lease.end", id.text(), reason);
    }
    GrantRecord ended = grant.nowEnding(reason);
    free(transaction, id, ended, dead);
    GrantRecord left = ended.without(dead);
    if (left.parts().isEmpty()) {
      transaction.delete(RecordTypes.GRANTS, id.text());
      if (transaction.get(RecordTypes.HOLDS, id.text()).isPresent()) {
        transaction.delete(RecordTypes.HOLDS, id.text());
      }
    } else if (!left.equals(grant)) {
      transaction.put(RecordTypes.GRANTS, id.text(), left);
    }
    return !grant.isEnding();
  }

  /** This server's name. */
  String server() {
    return server;
  }

  Optional<GrantRecord> get(LeaseId id) {
    return records.get(RecordTypes.GRANTS, id.text()).map(Versioned::value);
  }

  /** The lease with this secret; looks at all, so it is not for every day. */
  Optional<LeaseId> find(LeaseSecret.Hash secret) {
    return records.all(RecordTypes.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().secretHash().equals(secret))
        .map(e -> new LeaseId(e.getKey()))
        .findFirst();
  }

  /** Leases of a pod that its container may use; looks at all. */
  List<LeaseId> ofPod(String uid, String container) {
    return records.all(RecordTypes.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().pod().filter(p -> p.serves(uid, container)).isPresent())
        .filter(e -> !e.getValue().value().isEnding())
        .map(e -> new LeaseId(e.getKey()))
        .toList();
  }

  void forEach(BiConsumer<LeaseId, GrantRecord> action) {
    records.all(RecordTypes.GRANTS).forEach((id, v) -> action.accept(new LeaseId(id), v.value()));
  }

  boolean knows(TokenHash token) {
    return records.get(RecordTypes.TOKENS, token.text()).isPresent();
  }

  /** The server to which a lease's holder is connected. */
  String heldAt(LeaseId id, String home) {
    return records.get(RecordTypes.HOLDS, id.text()).map(Versioned::value).orElse(home);
  }

  /** Of the commit that last said where its holder is; 0: it is at the server of its GPUs. */
  long holdRevision(LeaseId id) {
    return records.get(RecordTypes.HOLDS, id.text()).map(Versioned::revision).orElse(0L);
  }

  /** Its holder has just been here, and is now the affair of the server of its GPUs. */
  void sendHome(LeaseId id, String home) throws StateException {
    records.transact(transaction -> {
      if (transaction.get(RecordTypes.GRANTS, id.text()).isPresent()) {
        transaction.put(RecordTypes.HOLDS, id.text(), home);
      }
      return null;
    });
  }

  /** From now on the lease's holder is connected to this server. */
  void holdHere(LeaseId id, boolean home) throws StateException {
    records.transact(transaction -> {
      if (transaction.get(RecordTypes.GRANTS, id.text()).isPresent()) {
        if (home) {
          transaction.delete(RecordTypes.HOLDS, id.text());
        } else {
          transaction.put(RecordTypes.HOLDS, id.text(), server);
        }
      }
      return null;
    });
  }

  /** Ends a lease and frees what it had of a server that is gone, unless that has come back. */
  void endOfGone(LeaseId id, String gone) throws StateException {
    records.transact(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      if (grant.isPresent() && transaction.get(RecordTypes.SERVERS, gone).isEmpty()) {
        end(
            transaction,
            id,
            grant.get(),
            gone::equals,
            Principal.POOL,
            "server " + gone + " is gone");
      }
      return null;
    });
  }

  /** All leases that have a part on this server. */
  Map<LeaseId, GrantRecord> all() {
    Map<LeaseId, GrantRecord> mine = new LinkedHashMap<>();
    for (Map.Entry<String, Versioned<GrantRecord>> e : records.all(RecordTypes.GRANTS).entrySet()) {
      GrantRecord grant = e.getValue().value();
      if (grant.isOn(server)) {
        mine.put(new LeaseId(e.getKey()), grant);
      }
    }
    return mine;
  }

  /** The parts of a lease; empty if one of its GPUs is not there. */
  Optional<List<Part>> parts(GrantRecord grant, Capacity capacity) {
    List<Part> parts = new ArrayList<>();
    for (GrantRecord.PartRecord part : grant.parts()) {
      Optional<Gpu> gpu = capacity.gpu(part.gpu());
      if (gpu.isEmpty()) {
        return Optional.empty();
      }
      parts.add(new Part(gpu.get(), part.partition(), part.share(), part.hard()));
    }
    return Optional.of(parts);
  }

  private static void requireOpen(Transaction transaction, Gpu gpu) throws RefusedException {
    if (transaction.get(RecordTypes.DRAINS, gpu.server()).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "server " + gpu.server() + " drains since a moment ago");
    }
  }

  private static void requireToken(Transaction transaction, GrantRecord grant)
      throws RefusedException {
    if (grant.token().isPresent()
        && transaction.get(RecordTypes.TOKENS, grant.token().get().text()).isEmpty()) {
      throw new RefusedException(
          RefusedException.Why.DENIED, "the token was revoked while the request waited");
    }
  }

  private static void count(Transaction transaction, GrantRecord grant) throws RefusedException {
    String tenant = grant.tenant();
    if (tenant.isEmpty()) {
      return;
    }
    ResourceUsage after =
        transaction.get(RecordTypes.USAGES, tenant).orElse(ResourceUsage.NONE).plus(grant.use());
    Optional<String> limit =
        transaction
            .get(RecordTypes.TENANTS, tenant)
            .map(Tenant::quota)
            .flatMap(q -> q.exceededBy(after));
    if (limit.isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "tenant '" + tenant + "' may hold " + limit.get());
    }
    transaction.put(RecordTypes.USAGES, tenant, after);
  }

  private static void free(
      Transaction transaction, LeaseId id, GrantRecord grant, Predicate<String> servers) {
    for (GrantRecord.PartRecord part : grant.parts()) {
      String key = part.gpu().text();
      if (!servers.test(part.gpu().server())) {
        continue;
      }
      transaction
          .get(RecordTypes.DIVISIONS, key)
          .map(division -> division.release(id))
          .ifPresent(after -> {
            if (after.equals(Division.UNDIVIDED)) {
              transaction.delete(RecordTypes.DIVISIONS, key);
            } else {
              transaction.put(RecordTypes.DIVISIONS, key, after);
            }
          });
    }
    ResourceUsage less = grant.use().minus(grant.without(servers).use());
    Optional<ResourceUsage> use = transaction.get(RecordTypes.USAGES, grant.tenant());
    if (use.isPresent() && !less.equals(ResourceUsage.NONE)) {
      ResourceUsage after = use.get().minus(less);
      if (after.leases() == 0) {
        transaction.delete(RecordTypes.USAGES, grant.tenant());
      } else {
        transaction.put(RecordTypes.USAGES, grant.tenant(), after);
      }
    }
  }
}
