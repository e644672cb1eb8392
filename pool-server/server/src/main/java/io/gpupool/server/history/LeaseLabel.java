// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import io.gpupool.server.identity.HolderName;

/**
 * A lease as people know it, also after its end.
 *
 * @param id such as {@code L12}; empty: several leases together
 * @param program of its holder
 * @param holder {@code USER@HOST}
 */
public record LeaseLabel(String id, String tenant, String program, String holder) {
  static final LeaseLabel OTHERS = new LeaseLabel("", "", "", "");

  static LeaseLabel of(String id, String tenant, HolderName holder) {
    String who = holder.user().isEmpty() ? holder.host() : holder.user() + "@" + holder.host();
    return new LeaseLabel(id, tenant, holder.program(), who);
  }

  public boolean isOthers() {
    return id.isEmpty();
  }
}
