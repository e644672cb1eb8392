// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.limits.LeaseLimits;
import java.util.List;
import java.util.Optional;

/**
 * A granted lease as the pool remembers it.
 *
 * @param secretHash SHA-256 of its secret
 * @param token with which it was asked for
 * @param grantedAtMillis since 1970
 * @param limits when it ends by itself
 * @param ending whether it has ended, and only its workers may still be alive
 */
record GrantRecord(
    LeaseSecret.Hash secretHash,
    HolderName holder,
    String tenant,
    Optional<TokenHash> token,
    List<PartRecord> parts,
    long grantedAtMillis,
    LeaseLimits limits,
    boolean ending) {
  GrantRecord {
    parts = List.copyOf(parts);
  }

  /** One GPU's part, as the pool remembers it whether the GPU is there or not. */
  record PartRecord(
      GpuKey gpu, Optional<String> partition, Share share, boolean hard, int gpuMillis) {}

  GrantRecord nowEnding() {
    return new GrantRecord(secretHash, holder, tenant, token, parts, grantedAtMillis, limits, true);
  }

  /** What it counts for its tenant. */
  Use use() {
    return new Use(
        parts.stream().mapToLong(PartRecord::gpuMillis).sum(),
        parts.stream().mapToLong(part -> part.share().memoryBytes()).sum(),
        1);
  }
}
