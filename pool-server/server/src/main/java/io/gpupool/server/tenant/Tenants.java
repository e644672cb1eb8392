// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The tenants of the pool and their quotas. Owned by the control thread. */
public final class Tenants {
  private final RecordStore records;
  private final Audit audit;
  private final Timers timers;

  public Tenants(RecordStore records, Audit audit, Timers timers) {
    this.records = records;
    this.audit = audit;
    this.timers = timers;
  }

  public Map<String, Versioned<Tenant>> all() {
    return records.all(RecordTypes.TENANTS);
  }

  public ResourceUsage use(String name) {
    return records.get(RecordTypes.USAGES, name).map(Versioned::value).orElse(ResourceUsage.NONE);
  }

  /** What all may hold and hold, for whoever decides about a grant. */
  public QuotaUsage budgets() {
    Map<String, Quota> quotas = new HashMap<>();
    all().forEach((name, tenant) -> quotas.put(name, tenant.value().quota()));
    Map<String, ResourceUsage> uses = new HashMap<>();
    records.all(RecordTypes.USAGES).forEach((name, use) -> uses.put(name, use.value()));
    return new QuotaUsage(quotas, uses);
  }

  /** Returns why a tenant may not ask with this priority; empty if it may. */
  public Optional<RejectionReason.PriorityTooHigh> rejectionReason(String tenant, int priority) {
    return records
        .get(RecordTypes.TENANTS, tenant)
        .map(Versioned::value)
        .map(t -> t.quota().maxPriority())
        .filter(highest -> priority > highest)
        .map(highest -> new RejectionReason.PriorityTooHigh(tenant, highest));
  }

  /** Makes one whose quota is set by hand. */
  public void create(Principal principal, String name, Quota quota)
      throws RefusedException, StateException {
    create(principal, name, quota, "");
  }

  /**
   * Makes one.
   *
   * @param quotaManager the program that keeps the quota as it is; empty: none
   */
  public void create(Principal principal, String name, Quota quota, String quotaManager)
      throws RefusedException, StateException {
    ResourceNames.check("a tenant", name);
    records.update(transaction -> {
      if (transaction.get(RecordTypes.TENANTS, name).isPresent()) {
        throw new RefusedException(
            RefusedException.Why.EXISTS, "there is a tenant '" + name + "' already");
      }
      transaction.put(
          RecordTypes.TENANTS, name, new Tenant(quota, timers.wallMillis(), quotaManager));
      audit.note(transaction, principal, "tenant.create", name, "");
    });
  }

  /** Sets all limits anew, by hand. */
  public void setQuota(Principal principal, String name, Quota quota, long ifRevision)
      throws RefusedException, StateException {
    setQuota(principal, name, quota, "", ifRevision);
  }

  /**
   * Sets all limits anew. Leases that are over a lower quota go on.
   *
   * @param quotaManager the program that keeps the quota as it is; empty: none
   */
  public void setQuota(
      Principal principal, String name, Quota quota, String quotaManager, long ifRevision)
      throws RefusedException, StateException {
    records.update(transaction -> {
      Tenant before = require(transaction, name);
      requireUnchanged(transaction, name, ifRevision);
      transaction.put(
          RecordTypes.TENANTS, name, new Tenant(quota, before.createdAtMillis(), quotaManager));
      audit.note(transaction, principal, "tenant.quota", name, quota.describe());
    });
  }

  public void delete(Principal principal, String name, long ifRevision)
      throws RefusedException, StateException {
    records.update(transaction -> {
      require(transaction, name);
      requireUnchanged(transaction, name, ifRevision);
      int leases = transaction.get(RecordTypes.USAGES, name).orElse(ResourceUsage.NONE).leases();
      if (leases > 0) {
        throw new RefusedException(
            RefusedException.Why.IN_USE,
            "tenant '" + name + "' holds " + leases + " leases; end them first");
      }
      // From here on whoever lets something refer to it comes between, and this is repeated.
      transaction.get(RecordTypes.COUNTERS, references(name));
      for (Versioned<Division> gpu : records.all(RecordTypes.DIVISIONS).values()) {
        requireUnreserved(gpu.value(), name);
      }
      records
          .all(RecordTypes.TOKENS)
          .forEach((hash, token) -> {
            if (token.value().tenant().equals(name)) {
              transaction.delete(RecordTypes.TOKENS, hash);
            }
          });
      transaction.delete(RecordTypes.COUNTERS, references(name));
      transaction.delete(RecordTypes.TENANTS, name);
      audit.note(transaction, principal, "tenant.delete", name, "");
    });
  }

  private static void requireUnchanged(Transaction transaction, String name, long ifRevision)
      throws RefusedException {
    long revision = transaction.revision(RecordTypes.TENANTS, name);
    if (ifRevision != 0 && ifRevision != revision) {
      throw new RefusedException(
          RefusedException.Why.CHANGED,
          "tenant '" + name + "' has changed since (revision " + revision + "); look again");
    }
  }

  private static void requireUnreserved(Division division, String name) throws RefusedException {
    for (Partition partition : division.partitions()) {
      if (partition.tenants().contains(name)) {
        throw new RefusedException(
            RefusedException.Why.IN_USE,
            "partition '"
                + partition.name()
                + "' is reserved for tenant '"
                + name
                + "'; delete it first");
      }
    }
  }

  /** Lets something refer to a tenant, which then cannot be deleted at the same time. */
  public static void refer(Transaction transaction, String name) throws RefusedException {
    require(transaction, name);
    String counter = references(name);
    transaction.put(
        RecordTypes.COUNTERS,
        counter,
        transaction.get(RecordTypes.COUNTERS, counter).orElse(0L) + 1);
  }

  private static String references(String name) {
    return "references-" + name;
  }

  /** The tenant, on which the draft then depends. */
  static Tenant require(Transaction transaction, String name) throws RefusedException {
    return transaction
        .get(RecordTypes.TENANTS, name)
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                "there is no tenant '" + HolderName.plain(name) + "'"));
  }
}
