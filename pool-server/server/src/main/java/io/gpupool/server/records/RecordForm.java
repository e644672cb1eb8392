// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.AllocationRecord;
import io.gpupool.control.state.v1.AuditRecord;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.DrainRecord;
import io.gpupool.control.state.v1.GpuRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.gpupool.control.state.v1.PartitionRecord;
import io.gpupool.control.state.v1.PodRecord;
import io.gpupool.control.state.v1.QueuedRequestRecord;
import io.gpupool.control.state.v1.RoleRecord;
import io.gpupool.control.state.v1.ServerRecord;
import io.gpupool.control.state.v1.ServerStatusRecord;
import io.gpupool.control.state.v1.ShareRecord;
import io.gpupool.control.state.v1.TenantRecord;
import io.gpupool.control.state.v1.TokenRecord;
import io.gpupool.control.state.v1.UsageRecord;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.Token;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.refusal.InvalidRequestException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/** How records look when they are written down; each pair of methods is the other's inverse. */
public final class RecordForm {
  private RecordForm() {}

  static DivisionRecord division(Division division) {
    DivisionRecord.Builder record = DivisionRecord.newBuilder();
    for (Partition partition : division.partitions()) {
      PartitionRecord.Builder part =
          PartitionRecord.newBuilder()
              .setName(partition.name())
              .setSize(share(partition.size()))
              .setHard(partition.hard())
              .addAllTenants(partition.tenants().stream().sorted().toList())
              .setLeaving(partition.leaving());
      partition.target().ifPresent(target -> part.setTarget(share(target)));
      record.addPartitions(part);
    }
    for (Allocation allocation : division.allocations()) {
      record.addAllocations(
          AllocationRecord.newBuilder()
              .setLease(allocation.lease().text())
              .setPartition(allocation.partition().orElse(""))
              .setShare(share(allocation.share())));
    }
    return record.build();
  }

  static Division division(DivisionRecord record) {
    return new Division(
        record.getPartitionsList().stream()
            .map(part ->
                new Partition(
                    part.getName(),
                    share(part.getSize()),
                    part.getHard(),
                    Set.copyOf(part.getTenantsList()),
                    part.hasTarget() ? Optional.of(share(part.getTarget())) : Optional.empty(),
                    part.getLeaving()))
            .toList(),
        record.getAllocationsList().stream()
            .map(allocation ->
                new Allocation(
                    new LeaseId(allocation.getLease()),
                    named(allocation.getPartition()),
                    share(allocation.getShare())))
            .toList());
  }

  static LeaseRecord grant(GrantRecord grant) {
    LeaseRecord.Builder record =
        LeaseRecord.newBuilder()
            .setSecretHash(grant.secretHash().sha256())
            .setTenant(grant.tenant())
            .setToken(grant.token().map(TokenHash::text).orElse(""))
            .setHost(grant.holder().host())
            .setPid(grant.holder().pid())
            .setProgram(grant.holder().program())
            .setUser(grant.holder().user())
            .setGrantedAtMillis(grant.grantedAtMillis())
            .setIdleTimeoutMillis(grant.limits().idleMillis())
            .setTimeLimitMillis(grant.limits().timeMillis())
            .setGraceMillis(grant.limits().graceMillis())
            .setClass_(grant.leaseClass() == LeaseClass.BATCH ? "" : grant.leaseClass().text())
            .setEnding(grant.isEnding())
            .setEndReason(grant.ending().orElse(""));
    grant.pod().ifPresent(pod -> record.setPod(pod(pod)));
    for (GrantRecord.PartRecord part : grant.parts()) {
      record.addParts(
          io.gpupool.control.state.v1.PartRecord.newBuilder()
              .setServer(part.gpu().server())
              .setCard(part.gpu().card())
              .setPartition(part.partition().orElse(""))
              .setShare(share(part.share()))
              .setHard(part.hard())
              .setMilliGpus(part.milliGpus()));
    }
    return record.build();
  }

  static GrantRecord grant(LeaseRecord record) {
    return new GrantRecord(
        new LeaseSecret.Hash(record.getSecretHash()),
        new HolderName(record.getHost(), record.getPid(), record.getProgram(), record.getUser()),
        record.getTenant(),
        named(record.getToken()).map(TokenHash::new),
        record.hasPod() ? Optional.of(pod(record.getPod())) : Optional.empty(),
        record.getPartsList().stream()
            .map(part ->
                new GrantRecord.PartRecord(
                    new GpuKey(part.getServer(), part.getCard()),
                    named(part.getPartition()),
                    share(part.getShare()),
                    part.getHard(),
                    part.getMilliGpus()))
            .toList(),
        record.getGrantedAtMillis(),
        new LeaseLimits(
            record.getIdleTimeoutMillis(), record.getTimeLimitMillis(), record.getGraceMillis()),
        LeaseClass.of(record.getClass_()),
        record.getEnding() ? Optional.of(record.getEndReason()) : Optional.empty());
  }

  private static PodRecord pod(LeasePod pod) {
    return PodRecord.newBuilder()
        .setUid(pod.uid())
        .setNamespace(pod.namespace())
        .setName(pod.name())
        .addAllContainers(pod.containers())
        .setNode(pod.node().orElse(""))
        .build();
  }

  private static LeasePod pod(PodRecord record) {
    return new LeasePod(
        record.getUid(),
        record.getNamespace(),
        record.getName(),
        record.getContainersList(),
        named(record.getNode()));
  }

  static TenantRecord tenant(Tenant tenant) {
    TenantRecord.Builder record =
        TenantRecord.newBuilder()
            .setCreatedAtMillis(tenant.createdAtMillis())
            .setQuotaManager(tenant.quotaManager());
    Quota quota = tenant.quota();
    quota.milliGpus().ifPresent(millis -> record.setMilliGpus(Math.toIntExact(millis)));
    quota.memoryBytes().ifPresent(record::setMemoryBytes);
    quota.leases().ifPresent(record::setLeases);
    quota.maxPriority().ifPresent(record::setMaxPriority);
    return record.build();
  }

  static Tenant tenant(TenantRecord record) {
    return new Tenant(
        new Quota(
            record.hasMilliGpus() ? OptionalLong.of(record.getMilliGpus()) : OptionalLong.empty(),
            record.hasMemoryBytes()
                ? OptionalLong.of(record.getMemoryBytes())
                : OptionalLong.empty(),
            record.hasLeases() ? OptionalInt.of(record.getLeases()) : OptionalInt.empty(),
            record.hasMaxPriority()
                ? OptionalInt.of(record.getMaxPriority())
                : OptionalInt.empty()),
        record.getCreatedAtMillis(),
        record.getQuotaManager());
  }

  static UsageRecord use(ResourceUsage use) {
    return UsageRecord.newBuilder()
        .setMilliGpus(use.milliGpus())
        .setMemoryBytes(use.memoryBytes())
        .setLeases(use.leases())
        .build();
  }

  static ResourceUsage use(UsageRecord record) {
    return new ResourceUsage(record.getMilliGpus(), record.getMemoryBytes(), record.getLeases());
  }

  static TokenRecord token(Token token) {
    return TokenRecord.newBuilder()
        .setTenant(token.tenant())
        .setRole(role(token.role()))
        .setCreatedAtMillis(token.createdAtMillis())
        .setExpiresAtMillis(token.expiresAtMillis().orElse(0))
        .setNote(token.note())
        .build();
  }

  static Token token(TokenRecord record) {
    return new Token(
        record.getTenant(),
        role(record.getRole()),
        record.getCreatedAtMillis(),
        record.getExpiresAtMillis() == 0
            ? OptionalLong.empty()
            : OptionalLong.of(record.getExpiresAtMillis()),
        record.getNote());
  }

  static AuditRecord audit(AuditEntry entry) {
    return AuditRecord.newBuilder()
        .setAtMillis(entry.atMillis())
        .setActor(entry.actor())
        .setAction(entry.action())
        .setSubject(entry.subject())
        .setDetail(entry.detail())
        .build();
  }

  static AuditEntry audit(AuditRecord record) {
    return new AuditEntry(
        record.getAtMillis(),
        record.getActor(),
        record.getAction(),
        record.getSubject(),
        record.getDetail());
  }

  static DrainRecord drain(Drain drain) {
    DrainRecord.Builder record =
        DrainRecord.newBuilder()
            .setActor(drain.actor())
            .setSinceMillis(drain.sinceMillis())
            .setStopping(drain.stopping());
    drain.deadlineAtMillis().ifPresent(record::setDeadlineAtMillis);
    return record.build();
  }

  static Drain drain(DrainRecord record) {
    return new Drain(
        record.getActor(),
        record.getSinceMillis(),
        record.hasDeadlineAtMillis()
            ? OptionalLong.of(record.getDeadlineAtMillis())
            : OptionalLong.empty(),
        record.getStopping());
  }

  static ServerRecord server(ServerEntry entry) {
    ServerRecord.Builder record =
        ServerRecord.newBuilder()
            .setName(entry.name())
            .setAddress(entry.address())
            .setVersion(entry.version())
            .setBackend(entry.backend())
            .setSinceMillis(entry.sinceMillis())
            .setCallStreamPort(entry.callStreamPort())
            .setTls(entry.tls())
            .setMps(entry.mps());
    for (Gpu gpu : entry.gpus()) {
      record.addGpus(
          GpuRecord.newBuilder()
              .setOrdinal(gpu.ordinal())
              .setUuid(gpu.uuid())
              .setName(gpu.name())
              .setMemoryBytes(gpu.memoryBytes())
              .setComputeCapability(gpu.computeCapability())
              .setDriverVersion(gpu.driverVersion())
              .addAllLabels(gpu.labelTexts())
              .setDriver(gpu.facts().driver())
              .setPciBusId(gpu.facts().pciBusId())
              .setMultiprocessors(gpu.facts().multiprocessors())
              .setClockKilohertz(gpu.facts().clockKilohertz())
              .setMemoryClockKilohertz(gpu.facts().memoryClockKilohertz())
              .setMemoryBusBits(gpu.facts().memoryBusBits())
              .setContextBytes(gpu.facts().contextBytes()));
    }
    return record.build();
  }

  static ServerEntry server(ServerRecord record) {
    return new ServerEntry(
        record.getName(),
        record.getAddress(),
        record.getVersion(),
        record.getBackend(),
        record.getGpusList().stream()
            .map(gpu ->
                new Gpu(
                    record.getName(),
                    gpu.getOrdinal(),
                    gpu.getUuid(),
                    gpu.getName(),
                    gpu.getMemoryBytes(),
                    gpu.getComputeCapability(),
                    gpu.getDriverVersion(),
                    gpu.getLabelsList().stream()
                        .map(label -> label.split("=", 2))
                        .collect(Collectors.toMap(label -> label[0], label -> label[1])),
                    new GpuFacts(
                        gpu.getDriver(),
                        gpu.getPciBusId(),
                        gpu.getMultiprocessors(),
                        gpu.getClockKilohertz(),
                        gpu.getMemoryClockKilohertz(),
                        gpu.getMemoryBusBits(),
                        gpu.getContextBytes())))
            .toList(),
        record.getSinceMillis(),
        record.getCallStreamPort(),
        record.getTls(),
        record.getMps());
  }

  static QueuedRequestRecord waiting(QueueRecord waiting) {
    Principal principal = waiting.spec().actor();
    return QueuedRequestRecord.newBuilder()
        .setNumber(waiting.number())
        .setServer(waiting.server())
        .setSinceMillis(waiting.sinceMillis())
        .setRequest(waiting.message().toByteString())
        .setActorTenant(principal.tenant())
        .setActorRole(role(principal.role()))
        .setActorToken(principal.token().map(TokenHash::text).orElse(""))
        .build();
  }

  static QueueRecord waiting(QueuedRequestRecord record) {
    try {
      LeaseRequest message = LeaseRequest.parseFrom(record.getRequest());
      Principal principal =
          new Principal(
              record.getActorTenant(),
              role(record.getActorRole()),
              named(record.getActorToken()).map(TokenHash::new));
      return new QueueRecord(
          record.getNumber(),
          record.getServer(),
          record.getSinceMillis(),
          message,
          LeaseRequestValidator.check(message, principal));
    } catch (InvalidProtocolBufferException | InvalidRequestException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  public static ServerStatusRecord status(ServerStatus status) {
    return ServerStatusRecord.newBuilder()
        .setAtMillis(status.atMillis())
        .setServer(status.server().toByteString())
        .setLeases(
            ListLeasesReply.newBuilder().addAllLeases(status.leases()).build().toByteString())
        .setSessions(
            ListSessionsReply.newBuilder().addAllSessions(status.sessions()).build().toByteString())
        .build();
  }

  static ServerStatus status(ServerStatusRecord record) {
    try {
      return new ServerStatus(
          record.getAtMillis(),
          ServerInfo.parseFrom(record.getServer()),
          ListLeasesReply.parseFrom(record.getLeases()).getLeasesList(),
          ListSessionsReply.parseFrom(record.getSessions()).getSessionsList());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static RoleRecord role(Role role) {
    return switch (role) {
      case READ_ONLY -> RoleRecord.ROLE_RECORD_READ_ONLY;
      case USER -> RoleRecord.ROLE_RECORD_USER;
      case ADMIN -> RoleRecord.ROLE_RECORD_ADMIN;
      case POD -> throw new IllegalArgumentException("pods have no tokens of the pool");
    };
  }

  private static Role role(RoleRecord record) {
    return switch (record) {
      case ROLE_RECORD_READ_ONLY -> Role.READ_ONLY;
      case ROLE_RECORD_USER -> Role.USER;
      case ROLE_RECORD_ADMIN -> Role.ADMIN;
      case ROLE_RECORD_UNSPECIFIED, UNRECOGNIZED ->
          throw new IllegalArgumentException("role " + record);
    };
  }

  private static ShareRecord share(Share share) {
    return ShareRecord.newBuilder()
        .setMemoryBytes(share.memoryBytes())
        .setComputeBasisPoints(share.computeBasisPoints())
        .build();
  }

  private static Share share(ShareRecord record) {
    return new Share(record.getMemoryBytes(), record.getComputeBasisPoints());
  }

  private static Optional<String> named(String text) {
    return text.isEmpty() ? Optional.empty() : Optional.of(text);
  }
}
