// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.GrantRecord.PartRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.rejection.QuotaLimit;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.Transaction;
import java.util.List;
import java.util.Optional;

/**
 * The part of a transaction that grants a lease. Everything the decision rests on is looked at
 * again, and so becomes a condition of the commit. Owned by the control thread.
 */
record GrantCommit(Transaction transaction, Members members) {
  /** A request that is recorded as waiting is granted only if it still waits at the same server. */
  void dequeue(String key, String server) throws RefusedException {
    if (transaction.get(RecordTypes.QUEUE, key).filter(w -> w.server().equals(server)).isEmpty()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "its client waits at another server now");
    }
    transaction.delete(RecordTypes.QUEUE, key);
  }

  /**
   * Takes the parts, counts them for the tenant, and records the lease and where its holder is.
   *
   * @param server to which the holder is connected
   */
  void grant(LeaseId id, GrantRecord grant, List<Part> parts, String server)
      throws RefusedException {
    for (Part part : parts) {
      requireServer(part.gpu().server());
    }
    requireToken(grant);
    for (Part part : parts) {
      requireOpen(part.gpu());
      take(id, part);
    }
    count(grant.tenant(), grant.use());
    transaction.put(RecordTypes.GRANTS, id.text(), grant);
    if (!isSame(parts.getFirst().gpu().server(), server)) {
      transaction.put(RecordTypes.HOLDS, id.text(), server);
    }
  }

  private boolean isSame(String one, String other) {
    return members.isThis(one) ? members.isThis(other) : one.equals(other);
  }

  /** Takes a part beside what a lease has, and counts it for nobody. */
  void takeBeside(LeaseId id, Part part) throws RefusedException {
    requireServer(part.gpu().server());
    requireOpen(part.gpu());
    take(id, part);
  }

  /** Takes the part with which a suspended lease goes on, and counts it for the tenant. */
  GrantRecord takeAgain(LeaseId id, GrantRecord grant, Part part) throws RefusedException {
    takeBeside(id, part);
    GrantRecord after = grant.with(List.of(PartRecord.of(part)), grant.leaseClass());
    count(grant.tenant(), after.use().minus(grant.use()));
    transaction.put(RecordTypes.GRANTS, id.text(), after);
    return after;
  }

  /** Another server's GPUs are granted only while it is alive. */
  private void requireServer(String name) throws RefusedException {
    if (!members.isThis(name) && transaction.get(RecordTypes.SERVERS, name).isEmpty()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "server " + name + " has left the pool meanwhile");
    }
  }

  private void take(LeaseId id, Part part) throws RefusedException {
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

  private void requireOpen(Gpu gpu) throws RefusedException {
    if (transaction.get(RecordTypes.DRAINS, gpu.server()).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED, "server " + gpu.server() + " drains since a moment ago");
    }
  }

  private void requireToken(GrantRecord grant) throws RefusedException {
    if (grant.token() != null
        && transaction.get(RecordTypes.TOKENS, grant.token().text()).isEmpty()) {
      throw new RefusedException(
          RefusedException.Why.DENIED,
          new RejectionReason.TokenRevoked().text(),
          new RejectionReason.TokenRevoked());
    }
  }

  private void count(String tenant, ResourceUsage more) throws RefusedException {
    if (tenant.isEmpty()) {
      return;
    }
    ResourceUsage after =
        transaction.get(RecordTypes.USAGES, tenant).orElse(ResourceUsage.NONE).plus(more);
    Optional<QuotaLimit> limit =
        transaction
            .get(RecordTypes.TENANTS, tenant)
            .map(Tenant::quota)
            .flatMap(q -> q.exceededBy(after));
    if (limit.isPresent()) {
      throw new RefusedException(
          RefusedException.Why.CHANGED,
          new RejectionReason.OverQuota(tenant, limit.get()).text(),
          new RejectionReason.OverQuota(tenant, limit.get()));
    }
    transaction.put(RecordTypes.USAGES, tenant, after);
  }
}
