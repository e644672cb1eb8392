// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.server.control.Timers;
import io.gpupool.server.identity.Actor;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.records.Kinds;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.records.Use;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.Draft;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Versioned;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The tenants of the pool and what they may hold. Owned by the control thread. */
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
    return records.all(Kinds.TENANTS);
  }

  public Use use(String name) {
    return records.get(Kinds.USES, name).map(Versioned::value).orElse(Use.NONE);
  }

  /** What all may hold and hold, for whoever decides about a grant. */
  public Budgets budgets() {
    Map<String, Quota> quotas = new HashMap<>();
    all().forEach((name, tenant) -> quotas.put(name, tenant.value().quota()));
    Map<String, Use> uses = new HashMap<>();
    records.all(Kinds.USES).forEach((name, use) -> uses.put(name, use.value()));
    return new Budgets(quotas, uses);
  }

  /** Why a tenant may not ask with this priority; empty if it may. */
  public Optional<String> whyNot(String tenant, int priority) {
    return records
        .get(Kinds.TENANTS, tenant)
        .map(Versioned::value)
        .filter(t -> t.quota().maxPriority().isPresent())
        .filter(t -> priority > t.quota().maxPriority().getAsInt())
        .map(t ->
            "tenant '"
                + tenant
                + "' may ask with a priority of at most "
                + t.quota().maxPriority().getAsInt());
  }

  /** Makes one whose quota is set by hand. */
  public void create(Actor actor, String name, Quota quota)
      throws RefusedException, StateException {
    create(actor, name, quota, "");
  }

  /**
   * Makes one.
   *
   * @param quotaManager the program that keeps the quota as it is; empty: none
   */
  public void create(Actor actor, String name, Quota quota, String quotaManager)
      throws RefusedException, StateException {
    Names.check("a tenant", name);
    records.transact(draft -> {
      if (draft.get(Kinds.TENANTS, name).isPresent()) {
        throw new RefusedException(
            RefusedException.Why.EXISTS, "there is a tenant '" + name + "' already");
      }
      draft.put(Kinds.TENANTS, name, new Tenant(quota, timers.wallMillis(), quotaManager));
      audit.note(draft, actor, "tenant.create", name, "");
      return null;
    });
  }

  /** Sets all limits anew, by hand. */
  public void setQuota(Actor actor, String name, Quota quota, long ifRevision)
      throws RefusedException, StateException {
    setQuota(actor, name, quota, "", ifRevision);
  }

  /**
   * Sets all limits anew. Leases that are over a lower quota go on.
   *
   * @param quotaManager the program that keeps the quota as it is; empty: none
   */
  public void setQuota(Actor actor, String name, Quota quota, String quotaManager, long ifRevision)
      throws RefusedException, StateException {
    records.transact(draft -> {
      Tenant before = require(draft, name);
      requireUnchanged(draft, name, ifRevision);
      draft.put(Kinds.TENANTS, name, new Tenant(quota, before.createdAtMillis(), quotaManager));
      audit.note(draft, actor, "tenant.quota", name, quota.describe());
      return null;
    });
  }

  public void delete(Actor actor, String name, long ifRevision)
      throws RefusedException, StateException {
    records.transact(draft -> {
      require(draft, name);
      requireUnchanged(draft, name, ifRevision);
      int leases = draft.get(Kinds.USES, name).orElse(Use.NONE).leases();
      if (leases > 0) {
        throw new RefusedException(
            RefusedException.Why.IN_USE,
            "tenant '" + name + "' holds " + leases + " leases; end them first");
      }
      // From here on whoever lets something refer to it comes between, and this is repeated.
      draft.get(Kinds.COUNTERS, references(name));
      for (Versioned<Division> gpu : records.all(Kinds.DIVISIONS).values()) {
        requireUnreserved(gpu.value(), name);
      }
      records
          .all(Kinds.TOKENS)
          .forEach((hash, token) -> {
            if (token.value().tenant().equals(name)) {
              draft.delete(Kinds.TOKENS, hash);
            }
          });
      draft.delete(Kinds.COUNTERS, references(name));
      draft.delete(Kinds.TENANTS, name);
      audit.note(draft, actor, "tenant.delete", name, "");
      return null;
    });
  }

  private static void requireUnchanged(Draft draft, String name, long ifRevision)
      throws RefusedException {
    long revision = draft.revision(Kinds.TENANTS, name);
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
  public static void refer(Draft draft, String name) throws RefusedException {
    require(draft, name);
    String counter = references(name);
    draft.put(Kinds.COUNTERS, counter, draft.get(Kinds.COUNTERS, counter).orElse(0L) + 1);
  }

  private static String references(String name) {
    return "references-" + name;
  }

  /** The tenant, on which the draft then depends. */
  static Tenant require(Draft draft, String name) throws RefusedException {
    return draft
        .get(Kinds.TENANTS, name)
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                "there is no tenant '" + HolderName.plain(name) + "'"));
  }
}
