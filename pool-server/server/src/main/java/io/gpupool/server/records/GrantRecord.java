// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.state.Transaction;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The record of a granted lease.
 *
 * @param secretHash SHA-256 of its secret
 * @param token the token with which it was asked for
 * @param parts its parts of GPUs; of a lease that has ended, those that servers still have
 * @param grantedAtMillis since 1970
 * @param limits the limits at which it ends by itself
 * @param precedence its rank among leases
 * @param ending the reason why it has ended, while its workers may still be alive; null: it has not
 */
public record GrantRecord(
    LeaseSecret.Hash secretHash,
    LeaseOwner owner,
    @Nullable TokenHash token,
    List<PartRecord> parts,
    long grantedAtMillis,
    LeaseLimits limits,
    Precedence precedence,
    @Nullable String ending) {
  public GrantRecord {
    parts = List.copyOf(parts);
  }

  /** Returns the record of a lease that is not ending, if there is one. */
  public static Optional<GrantRecord> living(Transaction transaction, LeaseId id) {
    return transaction.get(RecordTypes.GRANTS, id.text()).filter(found -> !found.isEnding());
  }

  /** A part of one GPU, recorded whether the GPU is there or not. */
  public record PartRecord(
      GpuKey gpu, @Nullable String partition, Share share, boolean hard, int milliGpus) {
    /** Returns the record of a part of a GPU that is there. */
    public static PartRecord of(Part part) {
      return new PartRecord(
          GpuKey.of(part.gpu()),
          part.partition(),
          part.share(),
          part.hard(),
          ResourceUsage.milliGpus(part.gpu(), part.share()));
    }

    /** Returns the part of its GPU, which is there. */
    public Part on(Gpu found) {
      return new Part(found, partition, share, hard);
    }

    /** Returns the same part of the GPU with nothing in it, as a suspended lease has it. */
    public PartRecord empty() {
      return new PartRecord(gpu, partition, Share.NONE, hard, 0);
    }
  }

  /**
   * The rank of a lease among leases.
   *
   * @param leaseClass the use that its programs make of a GPU's time
   * @param priority of the request for it; larger goes first
   */
  public record Precedence(LeaseClass leaseClass, int priority) {
    /** The order of leases of which the first is to be kept from harm first. */
    static final Comparator<Precedence> FIRST_FIRST =
        Comparator.comparing((Precedence of) -> of.leaseClass() != LeaseClass.LATENCY)
            .thenComparing(Comparator.comparing(Precedence::priority).reversed());
  }

  /** The order in which leases move away: by precedence, the older first. */
  public static final Comparator<GrantRecord> FIRST_TO_MOVE =
      Comparator.comparing(GrantRecord::precedence, Precedence.FIRST_FIRST)
          .thenComparing(GrantRecord::grantedAtMillis);

  public HolderName holder() {
    return owner.holder();
  }

  public String tenant() {
    return owner.tenant();
  }

  public Optional<LeasePod> pod() {
    return Optional.ofNullable(owner.pod());
  }

  public LeaseClass leaseClass() {
    return precedence.leaseClass();
  }

  public boolean isEnding() {
    return ending != null;
  }

  /** Returns the record of the lease that ends, unless it ended before for another reason. */
  public GrantRecord nowEnding(String reason) {
    return with(parts, leaseClass(), Objects.requireNonNullElse(ending, reason));
  }

  /** Returns the record with other shares of the same GPUs, or another class. */
  public GrantRecord with(List<PartRecord> otherParts, LeaseClass otherClass) {
    return with(otherParts, otherClass, ending);
  }

  /** Returns the record without the parts that are on some servers. */
  public GrantRecord without(Predicate<String> servers) {
    return with(
        parts.stream().filter(part -> !servers.test(part.gpu().server())).toList(),
        leaseClass(),
        ending);
  }

  private GrantRecord with(
      List<PartRecord> otherParts, LeaseClass otherClass, @Nullable String otherEnding) {
    return new GrantRecord(
        secretHash,
        owner,
        token,
        otherParts,
        grantedAtMillis,
        limits,
        new Precedence(otherClass, precedence.priority()),
        otherEnding);
  }

  public boolean isOn(String server) {
    return parts.stream().anyMatch(part -> part.gpu().server().equals(server));
  }

  public boolean isOn(GpuKey gpu) {
    return parts.stream().anyMatch(part -> part.gpu().equals(gpu));
  }

  /** Returns what it counts for its tenant; nothing once it has no parts. */
  public ResourceUsage use() {
    return new ResourceUsage(
        parts.stream().mapToLong(PartRecord::milliGpus).sum(),
        parts.stream().mapToLong(part -> part.share().memoryBytes()).sum(),
        parts.isEmpty() ? 0 : 1);
  }
}
