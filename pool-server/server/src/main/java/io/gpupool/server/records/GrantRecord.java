// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
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
public record GrantRecord(
    LeaseSecret.Hash secretHash,
    HolderName holder,
    String tenant,
    Optional<TokenHash> token,
    List<PartRecord> parts,
    long grantedAtMillis,
    LeaseLimits limits,
    boolean ending) {
  public GrantRecord {
    parts = List.copyOf(parts);
  }

  /** One GPU's part, as the pool remembers it whether the GPU is there or not. */
  public record PartRecord(
      GpuKey gpu, Optional<String> partition, Share share, boolean hard, int gpuMillis) {}

  public GrantRecord nowEnding() {
    return new GrantRecord(secretHash, holder, tenant, token, parts, grantedAtMillis, limits, true);
  }

  /** What it counts for its tenant. */
  public Use use() {
    return new Use(
        parts.stream().mapToLong(PartRecord::gpuMillis).sum(),
        parts.stream().mapToLong(part -> part.share().memoryBytes()).sum(),
        1);
  }
}
