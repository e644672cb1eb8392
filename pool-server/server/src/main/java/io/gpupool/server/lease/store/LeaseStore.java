// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.IdAllocator;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * The records of leases. One commit changes the lease, its holder, the GPUs it is on, what its
 * tenant holds and the queue, on the condition that none of them has changed since it was looked
 * at; so however many servers grant, none grants what another has granted. Owned by the control
 * thread.
 */
public final class LeaseStore {

  private final RecordStore records;
  private final Audit audit;
  private final Members members;
  private final Timers timers;
  private final String server;
  private final IdAllocator ids;
  private final MoveStore moves;
  private final SuspensionStore suspensions;
  private final CommunicatorStore communicators;

  public LeaseStore(
      RecordStore records, Audit audit, Members members, Timers timers, String server) {
    this.records = records;
    this.audit = audit;
    this.members = members;
    this.timers = timers;
    this.server = server;
    ids = new IdAllocator(records, "lease");
    moves = new MoveStore(records, audit, members);
    suspensions = new SuspensionStore(records, audit, members, timers);
    communicators = new CommunicatorStore(records);
  }

  public LeaseId nextId() throws StateException {
    return new LeaseId("L" + ids.next());
  }

  public GrantRecord record(LeaseSpec request, LeaseSecret.Hash secret, List<Part> parts) {
    return new GrantRecord(
        secret,
        request.owner(),
        request.principal().token(),
        parts.stream().map(GrantRecord.PartRecord::of).toList(),
        timers.wallMillis(),
        request.limits(),
        new GrantRecord.Precedence(request.leaseClass(), request.priority()),
        null);
  }

  /**
   * Records leases, where their holders are, and that their requests wait no more.
   *
   * @throws RefusedException if anything that the decision rests on has changed; then none is
   *     recorded
   */
  public void grant(List<NewLease> leases) throws StateException, RefusedException {
    records.update(transaction -> {
      GrantCommit commit = new GrantCommit(transaction, members);
      for (NewLease lease : leases) {
        if (lease.queueKey() != null) {
          commit.dequeue(lease.queueKey(), lease.server());
        }
        commit.grant(lease.id(), lease.record(), lease.parts(), lease.server());
        audit.note(
            transaction,
            lease.principal(),
            "lease.grant",
            lease.id().text(),
            lease.record().holder().toString());
      }
    });
  }

  /**
   * Records that a lease has ended, unless that is done already, and frees its parts on servers
   * where nothing of it is alive; it is forgotten with the last of its parts.
   *
   * @param dead servers, by name, where its workers are dead
   * @return whether it had not ended before
   */
  public boolean end(LeaseId id, Predicate<String> dead, Principal principal, String reason)
      throws StateException {
    return records.transact(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      return grant.isPresent()
          && new EndCommit(transaction, audit).end(id, grant.get(), dead, principal, reason);
    });
  }

  /** Frees the parts of a lease on servers where nothing of it is alive, and ends it if it runs. */
  public void free(LeaseId id, Predicate<String> dead, String reason) throws StateException {
    records.transact(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      return grant.isPresent()
          && new EndCommit(transaction, audit).end(id, grant.get(), dead, Principal.POOL, reason);
    });
  }

  /** The moves of leases to other GPUs. */
  public MoveStore moves() {
    return moves;
  }

  /** The suspensions of leases. */
  public SuspensionStore suspensions() {
    return suspensions;
  }

  /** The ranks of communicators in leases' sessions. */
  public CommunicatorStore communicators() {
    return communicators;
  }

  /** This server's name. */
  public String server() {
    return server;
  }

  public Optional<GrantRecord> get(LeaseId id) {
    return records.get(RecordTypes.GRANTS, id.text()).map(Versioned::value);
  }

  /** The lease with this secret. Looks at all leases, so it is slow. */
  public Optional<LeaseId> find(LeaseSecret.Hash secret) {
    return records.all(RecordTypes.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().secretHash().equals(secret))
        .map(e -> new LeaseId(e.getKey()))
        .findFirst();
  }

  /** The leases of a pod that its container may use. Looks at all leases. */
  public List<LeaseId> ofPod(String uid, String container) {
    return records.all(RecordTypes.GRANTS).entrySet().stream()
        .filter(e -> e.getValue().value().pod().filter(p -> p.serves(uid, container)).isPresent())
        .filter(e -> !e.getValue().value().isEnding())
        .map(e -> new LeaseId(e.getKey()))
        .toList();
  }

  /** How many leases gangs have. Looks at all leases. */
  public Map<GangKey, Integer> countByGang() {
    Map<GangKey, Integer> counts = new HashMap<>();
    forEach((id, record) -> {
      if (!record.isEnding()) {
        record.owner().gangKey().ifPresent(gang -> counts.merge(gang, 1, Integer::sum));
      }
    });
    return counts;
  }

  public void forEach(BiConsumer<LeaseId, GrantRecord> action) {
    records.all(RecordTypes.GRANTS).forEach((id, v) -> action.accept(new LeaseId(id), v.value()));
  }

  public boolean hasToken(TokenHash token) {
    return records.get(RecordTypes.TOKENS, token.text()).isPresent();
  }

  /** The server to which a lease's holder is connected. */
  public String holderServer(LeaseId id, String home) {
    return records.get(RecordTypes.HOLDS, id.text()).map(Versioned::value).orElse(home);
  }

  /**
   * Whether a lease's holder is connected to this server.
   *
   * @param home the server to assume if none is recorded
   */
  public boolean isHolderHere(LeaseId id, String home) {
    return holderServer(id, home).equals(server);
  }

  /** The revision at which it was recorded; 0: the holder is at the lease's home server. */
  public long holderRevision(LeaseId id) {
    return records.get(RecordTypes.HOLDS, id.text()).map(Versioned::revision).orElse(0L);
  }

  /** Records that the holder is connected to this server, unless that is known. */
  public void recordHolder(LeaseId id, LeaseTopology topology) throws StateException {
    if (isHolderHere(id, topology.home())) {
      return;
    }
    records.update(transaction -> {
      if (transaction.get(RecordTypes.GRANTS, id.text()).isPresent()) {
        if (topology.isHome()) {
          transaction.delete(RecordTypes.HOLDS, id.text());
        } else {
          transaction.put(RecordTypes.HOLDS, id.text(), server);
        }
      }
    });
  }

  /**
   * Records that the holder has just been here and is now the home server's to wait for, unless the
   * holder has gone to a third server meanwhile.
   */
  public void returnHolder(LeaseId id, String home) throws StateException {
    records.update(transaction -> {
      String at = transaction.get(RecordTypes.HOLDS, id.text()).orElse(server);
      boolean isElsewhere = !at.equals(server) && !at.equals(home);
      if (!isElsewhere && transaction.get(RecordTypes.GRANTS, id.text()).isPresent()) {
        transaction.put(RecordTypes.HOLDS, id.text(), home);
      }
    });
  }

  /** Ends a lease and frees what it had of a server that is gone, unless that has come back. */
  public void endOfGone(LeaseId id, String gone) throws StateException {
    records.transact(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      if (grant.isPresent() && transaction.get(RecordTypes.SERVERS, gone).isEmpty()) {
        return new EndCommit(transaction, audit)
            .end(id, grant.get(), gone::equals, Principal.POOL, "server " + gone + " is gone");
      }
      return false;
    });
  }

  /** All leases that have a part on this server. */
  public Map<LeaseId, GrantRecord> onThisServer() {
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
  public Optional<List<Part>> parts(GrantRecord grant, Capacity capacity) {
    List<Part> parts = new ArrayList<>();
    for (GrantRecord.PartRecord part : grant.parts()) {
      Optional<Gpu> gpu = capacity.gpu(part.gpu());
      if (gpu.isEmpty()) {
        return Optional.empty();
      }
      parts.add(part.on(gpu.get()));
    }
    return Optional.of(parts);
  }
}
