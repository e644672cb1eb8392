// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.server.records.Quota;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.RejectionReason;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The quotas of tenants and what they hold. Immutable. */
public record QuotaUsage(Map<String, Quota> quotas, Map<String, ResourceUsage> uses) {
  public static final QuotaUsage NONE = new QuotaUsage(Map.of(), Map.of());

  public QuotaUsage {
    quotas = Map.copyOf(quotas);
    uses = Map.copyOf(uses);
  }

  /** Returns why a tenant may not have this beside what it has; empty if it may. */
  public Optional<RejectionReason.OverQuota> rejectionReason(String tenant, ResourceUsage more) {
    return quota(tenant)
        .exceededBy(use(tenant).plus(more))
        .map(limit -> new RejectionReason.OverQuota(tenant, limit));
  }

  public boolean neverAllows(String tenant, ResourceUsage use) {
    return quota(tenant).exceededBy(use).isPresent();
  }

  /** When a tenant has got this, too. */
  public QuotaUsage with(String tenant, ResourceUsage more) {
    Map<String, ResourceUsage> after = new HashMap<>(uses);
    after.put(tenant, use(tenant).plus(more));
    return new QuotaUsage(quotas, after);
  }

  private Quota quota(String tenant) {
    return quotas.getOrDefault(tenant, Quota.UNLIMITED);
  }

  private ResourceUsage use(String tenant) {
    return uses.getOrDefault(tenant, ResourceUsage.NONE);
  }
}
