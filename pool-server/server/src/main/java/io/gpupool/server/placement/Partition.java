// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Share;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A named part of a GPU that an admin has set aside.
 *
 * @param size of the part
 * @param hard whether its leases never get more compute than their share, even if the rest is idle
 * @param tenants for whom it is reserved; empty: for all
 * @param target the size to which it shrinks as its leases end
 * @param leaving whether it is deleted with its last lease
 */
public record Partition(
    String name,
    Share size,
    boolean hard,
    Set<String> tenants,
    @Nullable Share target,
    boolean leaving) {
  public Partition {
    tenants = Set.copyOf(tenants);
  }

  public Partition(String name, Share size, boolean hard, Set<String> tenants) {
    this(name, size, hard, tenants, null, false);
  }

  /** What its leases may come to have. */
  Share limit() {
    return leaving ? Share.NONE : Objects.requireNonNullElse(target, size);
  }

  Partition withSize(Share newSize, @Nullable Share newTarget, boolean nowLeaving) {
    return new Partition(name, newSize, hard, tenants, newTarget, nowLeaving);
  }
}
