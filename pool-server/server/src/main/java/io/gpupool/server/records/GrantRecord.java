// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.limits.LeaseLimits;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The record of a granted lease.
 *
 * @param secretHash SHA-256 of its secret
 * @param token with which it was asked for
 * @param grantedAtMillis since 1970
 * @param limits when it ends by itself
 * @param leaseClass what its programs do with a GPU's time
 * @param pod whose it is, if one's
 * @param parts of one that has ended: those whose servers have not given them back
 * @param ending why it has ended, and only its workers may still be alive; empty: it has not
 */
public record GrantRecord(
    LeaseSecret.Hash secretHash,
    HolderName holder,
    String tenant,
    Optional<TokenHash> token,
    Optional<LeasePod> pod,
    List<PartRecord> parts,
    long grantedAtMillis,
    LeaseLimits limits,
    LeaseClass leaseClass,
    Optional<String> ending) {
  public GrantRecord {
    parts = List.copyOf(parts);
  }

  /** One GPU's part, as the pool remembers it whether the GPU is there or not. */
  public record PartRecord(
      GpuKey gpu, Optional<String> partition, Share share, boolean hard, int milliGpus) {}

  public boolean isEnding() {
    return ending.isPresent();
  }

  /** Ended for a reason, unless it was before for another. */
  public GrantRecord nowEnding(String reason) {
    return with(parts, leaseClass, ending.or(() -> Optional.of(reason)));
  }

  /** With other shares of the same GPUs, or of another class. */
  public GrantRecord with(List<PartRecord> otherParts, LeaseClass otherClass) {
    return with(otherParts, otherClass, ending);
  }

  /** Without the parts that are on some servers. */
  public GrantRecord without(Predicate<String> servers) {
    return with(
        parts.stream().filter(part -> !servers.test(part.gpu().server())).toList(),
        leaseClass,
        ending);
  }

  private GrantRecord with(
      List<PartRecord> otherParts, LeaseClass otherClass, Optional<String> otherEnding) {
    return new GrantRecord(
        secretHash,
        holder,
        tenant,
        token,
        pod,
        otherParts,
        grantedAtMillis,
        limits,
        otherClass,
        otherEnding);
  }

  public boolean isOn(String server) {
    return parts.stream().anyMatch(part -> part.gpu().server().equals(server));
  }

  /** What it counts for its tenant; nothing once it has no parts. */
  public ResourceUsage use() {
    return new ResourceUsage(
        parts.stream().mapToLong(PartRecord::milliGpus).sum(),
        parts.stream().mapToLong(part -> part.share().memoryBytes()).sum(),
        parts.isEmpty() ? 0 : 1);
  }
}
