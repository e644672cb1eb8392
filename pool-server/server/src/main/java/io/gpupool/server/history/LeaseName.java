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
public record LeaseName(String id, String tenant, String program, String holder) {
  static final LeaseName OTHERS = new LeaseName("", "", "", "");

  static LeaseName of(String id, String tenant, HolderName holder) {
    String who = holder.user().isEmpty() ? holder.host() : holder.user() + "@" + holder.host();
    return new LeaseName(id, tenant, holder.program(), who);
  }

  public boolean isOthers() {
    return id.isEmpty();
  }
}
