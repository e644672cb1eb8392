// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.state.v1.AllocationRecord;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.LeaseMoveRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.gpupool.control.state.v1.MovePhaseRecord;
import io.gpupool.control.state.v1.PartitionRecord;
import io.gpupool.control.state.v1.PodRecord;
import io.gpupool.control.state.v1.ShareRecord;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Partition;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The stored form of leases and of how GPUs are divided among them. */
final class LeaseForm {
  private LeaseForm() {}

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
      if (partition.target() != null) {
        part.setTarget(share(partition.target()));
      }
      record.addPartitions(part);
    }
    for (Allocation allocation : division.allocations()) {
      record.addAllocations(
          AllocationRecord.newBuilder()
              .setLease(allocation.lease().text())
              .setPartition(Objects.requireNonNullElse(allocation.partition(), ""))
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
                    part.hasTarget() ? share(part.getTarget()) : null,
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
            .setToken(Optional.ofNullable(grant.token()).map(TokenHash::text).orElse(""))
            .setHost(grant.holder().host())
            .setPid(grant.holder().pid())
            .setProgram(grant.holder().program())
            .setUser(grant.holder().user())
            .setGrantedAtMillis(grant.grantedAtMillis())
            .setIdleTimeoutMillis(grant.limits().idleMillis())
            .setTimeLimitMillis(grant.limits().timeMillis())
            .setGraceMillis(grant.limits().graceMillis())
            .setResumeWindowMillis(grant.limits().resumeWindowMillis())
            .setSuspendIdleMillis(grant.limits().suspendIdleMillis())
            .setPriority(grant.precedence().priority())
            .setClass_(grant.leaseClass() == LeaseClass.BATCH ? "" : grant.leaseClass().text())
            .setEnding(grant.isEnding())
            .setEndReason(Objects.requireNonNullElse(grant.ending(), ""))
            .setGang(Objects.requireNonNullElse(grant.owner().gang(), ""));
    grant.pod().ifPresent(pod -> record.setPod(pod(pod)));
    for (GrantRecord.PartRecord part : grant.parts()) {
      record.addParts(part(part));
    }
    return record.build();
  }

  static io.gpupool.control.state.v1.PartRecord part(GrantRecord.PartRecord part) {
    return io.gpupool.control.state.v1.PartRecord.newBuilder()
        .setServer(part.gpu().server())
        .setCard(part.gpu().card())
        .setPartition(Objects.requireNonNullElse(part.partition(), ""))
        .setShare(share(part.share()))
        .setHard(part.hard())
        .setMilliGpus(part.milliGpus())
        .build();
  }

  static GrantRecord.PartRecord part(io.gpupool.control.state.v1.PartRecord part) {
    return new GrantRecord.PartRecord(
        new GpuKey(part.getServer(), part.getCard()),
        named(part.getPartition()),
        share(part.getShare()),
        part.getHard(),
        part.getMilliGpus());
  }

  static LeaseMoveRecord move(MoveRecord move) {
    return LeaseMoveRecord.newBuilder()
        .setId(move.id())
        .setSourceServer(move.source().server())
        .setSourceCard(move.source().card())
        .setTarget(part(move.target()))
        .setDeadlineAtMillis(move.deadlineAtMillis())
        .setKeyHash(Optional.ofNullable(move.keyHash()).map(TokenHash::text).orElse(""))
        .setPhase(
            switch (move.phase()) {
              case PREPARING -> MovePhaseRecord.MOVE_PHASE_RECORD_PREPARING;
              case MOVED -> MovePhaseRecord.MOVE_PHASE_RECORD_MOVED;
              case FAILED -> MovePhaseRecord.MOVE_PHASE_RECORD_FAILED;
            })
        .setReason(move.result().reason())
        .setBytes(move.result().bytes())
        .setPauseNanos(move.result().pauseNanos())
        .setCleared(move.result().cleared())
        .addAllSessions(move.sessions())
        .build();
  }

  static MoveRecord move(LeaseMoveRecord record) {
    return new MoveRecord(
        record.getId(),
        new GpuKey(record.getSourceServer(), record.getSourceCard()),
        part(record.getTarget()),
        record.getDeadlineAtMillis(),
        token(record.getKeyHash()),
        switch (record.getPhase()) {
          case MOVE_PHASE_RECORD_PREPARING -> MoveRecord.Phase.PREPARING;
          case MOVE_PHASE_RECORD_MOVED -> MoveRecord.Phase.MOVED;
          case MOVE_PHASE_RECORD_FAILED -> MoveRecord.Phase.FAILED;
          case MOVE_PHASE_RECORD_UNSPECIFIED, UNRECOGNIZED ->
              throw new IllegalArgumentException("no phase of moves: " + record.getPhaseValue());
        },
        new MoveRecord.Result(
            record.getReason(), record.getBytes(), record.getPauseNanos(), record.getCleared()),
        record.getSessionsList());
  }

  static GrantRecord grant(LeaseRecord record) {
    return new GrantRecord(
        new LeaseSecret.Hash(record.getSecretHash()),
        new LeaseOwner(
            new HolderName(
                record.getHost(), record.getPid(), record.getProgram(), record.getUser()),
            record.getTenant(),
            record.hasPod() ? pod(record.getPod()) : null,
            named(record.getGang())),
        token(record.getToken()),
        record.getPartsList().stream().map(LeaseForm::part).toList(),
        record.getGrantedAtMillis(),
        new LeaseLimits(
            record.getIdleTimeoutMillis(),
            record.getTimeLimitMillis(),
            record.getGraceMillis(),
            record.getResumeWindowMillis(),
            record.getSuspendIdleMillis()),
        new GrantRecord.Precedence(
            LeaseClass.parse(record.getClass_())
                .orElseThrow(() ->
                    new IllegalArgumentException("no class of leases: " + record.getClass_())),
            record.getPriority()),
        record.getEnding() ? record.getEndReason() : null);
  }

  private static PodRecord pod(LeasePod pod) {
    return PodRecord.newBuilder()
        .setUid(pod.uid())
        .setNamespace(pod.namespace())
        .setName(pod.name())
        .addAllContainers(pod.containers())
        .setNode(Objects.requireNonNullElse(pod.node(), ""))
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

  private static ShareRecord share(Share share) {
    return ShareRecord.newBuilder()
        .setMemoryBytes(share.memoryBytes())
        .setComputeBasisPoints(share.computeBasisPoints())
        .build();
  }

  private static Share share(ShareRecord record) {
    return new Share(record.getMemoryBytes(), record.getComputeBasisPoints());
  }

  private static @Nullable String named(String text) {
    return text.isEmpty() ? null : text;
  }

  /** Returns the hash of a token from its text; null: there is no token. */
  static @Nullable TokenHash token(String text) {
    return text.isEmpty() ? null : new TokenHash(text);
  }
}
