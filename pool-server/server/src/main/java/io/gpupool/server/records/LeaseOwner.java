// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The owner of a lease.
 *
 * @param holder the process that holds it, in the words of that process
 * @param tenant the tenant that it counts for; empty: none
 * @param pod the pod that may use it; null: any
 * @param gang the name of the gang of its tenant that it belongs to; null: none
 */
public record LeaseOwner(
    HolderName holder, String tenant, @Nullable LeasePod pod, @Nullable String gang) {
  public LeaseOwner(HolderName holder, String tenant, @Nullable LeasePod pod) {
    this(holder, tenant, pod, null);
  }

  /** Returns the gang that it belongs to; empty: none. */
  public Optional<GangKey> gangKey() {
    return gang == null ? Optional.empty() : Optional.of(new GangKey(tenant, gang));
  }
}
