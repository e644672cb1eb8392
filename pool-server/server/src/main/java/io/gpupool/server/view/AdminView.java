// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.AuditLine;
import io.gpupool.control.v1.ListAuditReply;
import io.gpupool.control.v1.ListPartitionsReply;
import io.gpupool.control.v1.ListTenantsReply;
import io.gpupool.control.v1.ListTokensReply;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.control.v1.TokenInfo;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.capacity.Partitions.Wanted;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.Token;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.records.AuditEntry;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.Tenants;
import io.gpupool.server.tenant.Tokens;
import java.util.Map;
import java.util.Objects;

/** A view of partitions, tenants and tokens as messages. */
public final class AdminView {
  private static final int DEFAULT_AUDIT_LINES = 100;
  private static final double MAX_QUOTA_GPUS = 1_000_000;

  private final Capacity capacity;
  private final Partitions partitions;
  private final Tenants tenants;
  private final Tokens tokens;
  private final Audit audit;

  public AdminView(
      Capacity capacity, Partitions partitions, Tenants tenants, Tokens tokens, Audit audit) {
    this.capacity = capacity;
    this.partitions = partitions;
    this.tenants = tenants;
    this.tokens = tokens;
    this.audit = audit;
  }

  /** Those that this caller may use or see; an admin sees all. */
  public ListPartitionsReply partitions(Principal principal) {
    ListPartitionsReply.Builder reply = ListPartitionsReply.newBuilder();
    for (Gpu gpu : capacity.gpus()) {
      Partitions.Seen seen = partitions.see(gpu);
      for (Partition partition : seen.division().partitions()) {
        if (partition.tenants().isEmpty()
            || partition.tenants().stream().anyMatch(principal::maySee)) {
          reply.addPartitions(info(gpu, seen, partition));
        }
      }
    }
    return reply.build();
  }

  public PartitionInfo partition(Gpu gpu, String name) {
    Partitions.Seen seen = partitions.see(gpu);
    return info(gpu, seen, seen.division().partition(name).orElseThrow());
  }

  public ListTenantsReply tenants(Principal principal) {
    return tenants(principal, "");
  }

  /** The tenant of this name alone; of an empty name: all. */
  public ListTenantsReply tenants(Principal principal, String name) {
    ListTenantsReply.Builder reply = ListTenantsReply.newBuilder();
    for (Map.Entry<String, Versioned<Tenant>> tenant : tenants.all().entrySet()) {
      if (principal.maySee(tenant.getKey()) && (name.isEmpty() || name.equals(tenant.getKey()))) {
        reply.addTenants(info(tenant.getKey(), tenant.getValue()));
      }
    }
    return reply.build();
  }

  public TenantInfo tenant(String name) {
    return info(name, Objects.requireNonNull(tenants.all().get(name)));
  }

  public ListTokensReply tokens(String tenant) {
    ListTokensReply.Builder reply = ListTokensReply.newBuilder();
    for (Map.Entry<String, Versioned<Token>> token : tokens.all().entrySet()) {
      if (tenant.isEmpty() || token.getValue().value().tenant().equals(tenant)) {
        reply.addTokens(info(new TokenHash(token.getKey()), token.getValue().value()));
      }
    }
    return reply.build();
  }

  public TokenInfo token(TokenHash hash) {
    return info(hash, Objects.requireNonNull(tokens.all().get(hash.text())).value());
  }

  /**
   * The last lines of the audit log.
   *
   * @param limit how many; 0: as many as there usually are
   */
  public ListAuditReply audit(int limit) {
    int lines = limit <= 0 ? DEFAULT_AUDIT_LINES : limit;
    ListAuditReply.Builder reply = ListAuditReply.newBuilder();
    for (Audit.Line line : audit.latest(Math.min(lines, Audit.KEPT))) {
      AuditEntry entry = line.entry();
      reply.addLines(
          AuditLine.newBuilder()
              .setId(line.id())
              .setAtMillis(entry.atMillis())
              .setActor(entry.actor())
              .setAction(entry.action())
              .setSubject(entry.subject())
              .setDetail(entry.detail()));
    }
    return reply.build();
  }

  public static Wanted wanted(PartitionSize size) throws RefusedException {
    double percent = size.getComputePercent();
    if (size.getMemoryBytes() < 0 || !(percent >= 0 && percent <= 100)) {
      throw new RefusedException(
          RefusedException.Why.INVALID,
          "a partition has at least 1 MiB of memory, and 1 to 100 percent of compute");
    }
    return new Wanted(
        size.getMemoryBytes() == 0 ? null : size.getMemoryBytes(),
        percent == 0 ? null : (int) Math.round(percent * 100));
  }

  public static Quota quota(io.gpupool.control.v1.Quota quota) throws RefusedException {
    if (!(quota.getGpus() >= 0 && quota.getGpus() <= MAX_QUOTA_GPUS)
        || quota.getMemoryBytes() < 0
        || quota.getLeases() < 0) {
      throw new RefusedException(
          RefusedException.Why.INVALID, "a quota is a number from 0 to what there can be");
    }
    return new Quota(
        quota.hasGpus() ? Math.round(quota.getGpus() * 1000) : null,
        quota.hasMemoryBytes() ? quota.getMemoryBytes() : null,
        quota.hasLeases() ? quota.getLeases() : null,
        quota.hasMaxPriority() ? quota.getMaxPriority() : null);
  }

  public static Role role(io.gpupool.control.v1.Role role) throws RefusedException {
    return switch (role) {
      case ROLE_READ_ONLY -> Role.READ_ONLY;
      case ROLE_USER -> Role.USER;
      case ROLE_ADMIN -> Role.ADMIN;
      case ROLE_UNSPECIFIED, UNRECOGNIZED ->
          throw new RefusedException(
              RefusedException.Why.INVALID, "say which role: read-only, user or admin");
    };
  }

  private static PartitionInfo info(Gpu gpu, Partitions.Seen seen, Partition partition) {
    String name = partition.name();
    PartitionInfo.Builder info =
        PartitionInfo.newBuilder()
            .setRef(
                PartitionRef.newBuilder()
                    .setServer(gpu.server())
                    .setGpu(gpu.ordinal())
                    .setName(partition.name()))
            .setGpuUuid(gpu.uuid())
            .setSize(size(partition.size()))
            .setLeased(size(seen.division().granted(name)))
            .setHard(partition.hard())
            .addAllTenants(partition.tenants().stream().sorted().toList())
            .setLeaving(partition.leaving())
            .addAllLeases(seen.division().leases(name).stream().map(LeaseId::text).toList())
            .setRevision(seen.revision());
    if (partition.target() != null) {
      info.setTarget(size(partition.target()));
    }
    return info.build();
  }

  private static PartitionSize size(Share share) {
    return PartitionSize.newBuilder()
        .setMemoryBytes(share.memoryBytes())
        .setComputePercent(share.computePercent())
        .build();
  }

  private TenantInfo info(String name, Versioned<Tenant> tenant) {
    Quota quota = tenant.value().quota();
    io.gpupool.control.v1.Quota.Builder message = io.gpupool.control.v1.Quota.newBuilder();
    if (quota.milliGpus() != null) {
      message.setGpus(quota.milliGpus() / 1000.0);
    }
    if (quota.memoryBytes() != null) {
      message.setMemoryBytes(quota.memoryBytes());
    }
    if (quota.leases() != null) {
      message.setLeases(quota.leases());
    }
    if (quota.maxPriority() != null) {
      message.setMaxPriority(quota.maxPriority());
    }
    ResourceUsage use = tenants.use(name);
    return TenantInfo.newBuilder()
        .setName(name)
        .setQuota(message)
        .setUsedGpus(use.milliGpus() / 1000.0)
        .setUsedMemoryBytes(use.memoryBytes())
        .setUsedLeases(use.leases())
        .setCreatedAtMillis(tenant.value().createdAtMillis())
        .setRevision(tenant.revision())
        .setQuotaManager(tenant.value().quotaManager())
        .build();
  }

  private static TokenInfo info(TokenHash hash, Token token) {
    return TokenInfo.newBuilder()
        .setId(hash.id())
        .setTenant(token.tenant())
        .setRole(
            switch (token.role()) {
              case READ_ONLY -> io.gpupool.control.v1.Role.ROLE_READ_ONLY;
              case USER -> io.gpupool.control.v1.Role.ROLE_USER;
              case ADMIN -> io.gpupool.control.v1.Role.ROLE_ADMIN;
              case POD -> throw new IllegalArgumentException("pods have no tokens of the pool");
            })
        .setCreatedAtMillis(token.createdAtMillis())
        .setExpiresAtMillis(Objects.requireNonNullElse(token.expiresAtMillis(), 0L))
        .setNote(token.note())
        .build();
  }
}
