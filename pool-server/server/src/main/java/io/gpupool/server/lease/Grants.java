// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.control.Timers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.Actor;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.Kinds;
import io.gpupool.server.records.Numbers;
import io.gpupool.server.records.Request;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.records.Use;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.Draft;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
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
  private final Numbers numbers;

  public Grants(RecordStore records, Audit audit, Timers timers, String server) {
    this.records = records;
    this.audit = audit;
    this.timers = timers;
    this.server = server;
    numbers = new Numbers(records, "lease");
  }

  Partners partners(Members members) {
    return new Partners(records, members, timers);
  }

  LeaseId nextId() throws StateException {
    return new LeaseId("L" + numbers.next());
  }

  GrantRecord record(Request request, LeaseSecret.Hash secret, List<Part> parts) {
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
                    Use.gpuMillis(part.gpu(), part.share())))
            .toList(),
        timers.wallMillis(),
        request.limits(),
        request.leaseClass(),
        Optional.empty());
  }

  /** What is written in the same commit as a lease. */
  interface Beside {
    void write(Draft draft) throws RefusedException;
  }

  void add(LeaseId id, GrantRecord grant, List<Part> parts, Actor actor)
      throws StateException, RefusedException {
    add(id, grant, parts, actor, draft -> {});
  }

  void add(LeaseId id, GrantRecord grant, List<Part> parts, Actor actor, Beside beside)
      throws StateException, RefusedException {
    records.transact(draft -> {
      beside.write(draft);
      requireToken(draft, grant);
      for (Part part : parts) {
        requireOpen(draft, part.gpu());
        String key = GpuKey.of(part.gpu()).text();
        Division after =
            draft
                .get(Kinds.DIVISIONS, key)
                .orElse(Division.UNDIVIDED)
                .take(new Allocation(id, part.partition(), part.share()), part.gpu().whole())
                .orElseThrow(() ->
                    new RefusedException(
                        RefusedException.Why.CHANGED,
                        part.gpu().label() + " has been granted to another meanwhile"));
        draft.put(Kinds.DIVISIONS, key, after);
      }
      count(draft, grant);
      draft.put(Kinds.GRANTS, id.text(), grant);
      audit.note(draft, actor, "lease.grant", id.text(), grant.holder().toString());
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
  boolean end(LeaseId id, Predicate<String> dead, Actor actor, String reason)
      throws StateException {
    return records.transact(draft -> {
      Optional<GrantRecord> grant = draft.get(Kinds.GRANTS, id.text());
      return grant.isPresent() && end(draft, id, grant.get(), dead, actor, reason);
    });
  }

  private boolean end(
      Draft draft,
      LeaseId id,
      GrantRecord grant,
      Predicate<String> dead,
      Actor actor,
      String reason) {
    if (!grant.isEnding()) {
      audit.note(draft, actor, "lease.end", id.text(), reason);
    }
    GrantRecord ended = grant.nowEnding(reason);
    free(draft, id, ended, dead);
    GrantRecord left = ended.without(dead);
    if (left.parts().isEmpty()) {
      draft.delete(Kinds.GRANTS, id.text());
      if (draft.get(Kinds.HOLDS, id.text()).isPresent()) {
        draft.delete(Kinds.HOLDS, id.text());
      }
    } else if (!left.equals(grant)) {
      draft.put(Kinds.GRANTS, id.text(), left);
    }
    return !grant.isEnding();
  }

  /** This server's name. */
  String server() {
    return server;
  }

  Optional<GrantRecord> get(LeaseId id) {
    return records.get(Kinds.GRANTS, id.text()).map(Versioned::value);
  }

  /** The lease with this secret; looks at all, so it is not for every day. */
  Optional<LeaseId> find(LeaseSecret.Hash secret) {
    return records.all(Kinds.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().secretHash().equals(secret))
        .map(e -> new LeaseId(e.getKey()))
        .findFirst();
  }

  /** Leases of a pod that its container may use; looks at all. */
  List<LeaseId> ofPod(String uid, String container) {
    return records.all(Kinds.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().pod().filter(p -> p.serves(uid, container)).isPresent())
        .filter(e -> !e.getValue().value().isEnding())
        .map(e -> new LeaseId(e.getKey()))
        .toList();
  }

  void forEach(BiConsumer<LeaseId, GrantRecord> action) {
    records.all(Kinds.GRANTS).forEach((id, v) -> action.accept(new LeaseId(id), v.value()));
  }

  boolean knows(TokenHash token) {
    return records.get(Kinds.TOKENS, token.text()).isPresent();
  }

  /** The server to which a lease's holder is connected. */
  String heldAt(LeaseId id, String home) {
    return records.get(Kinds.HOLDS, id.text()).map(Versioned::value).orElse(home);
  }

  /** Of the commit that last said where its holder is; 0: it is at the server of its GPUs. */
  long holdRevision(LeaseId id) {
    return records.get(Kinds.HOLDS, id.text()).map(Versioned::revision).orElse(0L);
  }

  /** Its holder has just been here, and is now the affair of the server of its GPUs. */
  void sendHome(LeaseId id, String home) throws StateException {
    records.transact(draft -> {
      if (draft.get(Kinds.GRANTS, id.text()).isPresent()) {
        draft.put(Kinds.HOLDS, id.text(), home);
      }
      return null;
    });
  }

  /** From now on the lease's holder is connected to this server. */
  void holdHere(LeaseId id, boolean home) throws StateException {
    records.transact(draft -> {
      if (draft.get(Kinds.GRANTS, id.text()).isPresent()) {
        if (home) {
          draft.delete(Kinds.HOLDS, id.text());
        } else {
          draft.put(Kinds.HOLDS, id.text(), server);
        }
      }
      return null;
    });
  }

  /** Ends a lease and frees what it had of a server that is gone, unless that has come back. */
  void endOfGone(LeaseId id, String gone) throws StateException {
    records.transact(draft -> {
      Optional<GrantRecord> grant = draft.get(Kinds.GRANTS, id.text());
      if (grant.isPresent() && draft.get(Kinds.SERVERS, gone).isEmpty()) {
        end(draft, id, grant.get(), gone::equals, Actor.POOL, "server " + gone + " is gone");
      }
      return null;
    });
  }

  /** All leases that have a part on this server. */
  Map<LeaseId, GrantRecord> all() {
    Map<LeaseId, GrantRecord> mine = new LinkedHashMap<>();
    for (Map.Entry<String, Versioned<GrantRecord>> e : records.all(Kinds.GRANTS).entrySet()) {
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

  private static void requireOpen(Draft draft, Gpu gpu) throws RefusedException {
    if (draft.get(Kinds.DRAINS, gpu.server()).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "server " + gpu.server() + " drains since a moment ago");
    }
  }

  private static void requireToken(Draft draft, GrantRecord grant) throws RefusedException {
    if (grant.token().isPresent()
        && draft.get(Kinds.TOKENS, grant.token().get().text()).isEmpty()) {
      throw new RefusedException(
          RefusedException.Why.DENIED, "the token was revoked while the request waited");
    }
  }

  private static void count(Draft draft, GrantRecord grant) throws RefusedException {
    String tenant = grant.tenant();
    if (tenant.isEmpty()) {
      return;
    }
    Use after = draft.get(Kinds.USES, tenant).orElse(Use.NONE).plus(grant.use());
    Optional<String> limit =
        draft.get(Kinds.TENANTS, tenant).map(Tenant::quota).flatMap(q -> q.exceededBy(after));
    if (limit.isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "tenant '" + tenant + "' may hold " + limit.get());
    }
    draft.put(Kinds.USES, tenant, after);
  }

  private static void free(Draft draft, LeaseId id, GrantRecord grant, Predicate<String> servers) {
    for (GrantRecord.PartRecord part : grant.parts()) {
      String key = part.gpu().text();
      if (!servers.test(part.gpu().server())) {
        continue;
      }
      draft
          .get(Kinds.DIVISIONS, key)
          .map(division -> division.release(id))
          .ifPresent(after -> {
            if (after.equals(Division.UNDIVIDED)) {
              draft.delete(Kinds.DIVISIONS, key);
            } else {
              draft.put(Kinds.DIVISIONS, key, after);
            }
          });
    }
    Use less = grant.use().minus(grant.without(servers).use());
    Optional<Use> use = draft.get(Kinds.USES, grant.tenant());
    if (use.isPresent() && !less.equals(Use.NONE)) {
      Use after = use.get().minus(less);
      if (after.leases() == 0) {
        draft.delete(Kinds.USES, grant.tenant());
      } else {
        draft.put(Kinds.USES, grant.tenant(), after);
      }
    }
  }
}
