// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.DrainRecord;
import io.gpupool.control.state.v1.DrainedLeaseRecord;
import io.gpupool.control.state.v1.DrainedLeaseStateRecord;
import io.gpupool.control.state.v1.GpuRecord;
import io.gpupool.control.state.v1.ServerRecord;
import io.gpupool.control.state.v1.ServerStatusRecord;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.placement.LeaseId;
import java.util.stream.Collectors;

/** The stored form of servers, their drains and their status. */
public final class ServerForm {
  private ServerForm() {}

  static DrainRecord drain(Drain drain) {
    DrainRecord.Builder record =
        DrainRecord.newBuilder()
            .setActor(drain.actor())
            .setSinceMillis(drain.sinceMillis())
            .setStopping(drain.stopping())
            .setMove(drain.move());
    drain.leases().forEach(lease -> record.addLeases(lease(lease)));
    if (drain.deadlineAtMillis() != null) {
      record.setDeadlineAtMillis(drain.deadlineAtMillis());
    }
    return record.build();
  }

  static Drain drain(DrainRecord record) {
    return new Drain(
        record.getActor(),
        record.getSinceMillis(),
        record.hasDeadlineAtMillis() ? record.getDeadlineAtMillis() : null,
        record.getStopping(),
        record.getMove(),
        record.getLeasesList().stream().map(ServerForm::lease).toList());
  }

  private static DrainedLeaseRecord lease(DrainedLease lease) {
    DrainedLeaseRecord.Builder record =
        DrainedLeaseRecord.newBuilder()
            .setLease(lease.id().text())
            .setState(
                switch (lease.state()) {
                  case WAITING -> DrainedLeaseStateRecord.DRAINED_LEASE_STATE_RECORD_WAITING;
                  case MOVING -> DrainedLeaseStateRecord.DRAINED_LEASE_STATE_RECORD_MOVING;
                  case MOVED -> DrainedLeaseStateRecord.DRAINED_LEASE_STATE_RECORD_MOVED;
                  case STAYS -> DrainedLeaseStateRecord.DRAINED_LEASE_STATE_RECORD_STAYS;
                })
            .setPauseMillis(lease.pauseMillis())
            .setReason(lease.reason());
    if (lease.to() != null) {
      record.setServer(lease.to().server()).setGpu(lease.to().ordinal());
    }
    return record.build();
  }

  private static DrainedLease lease(DrainedLeaseRecord record) {
    return new DrainedLease(
        new LeaseId(record.getLease()),
        switch (record.getState()) {
          case DRAINED_LEASE_STATE_RECORD_WAITING -> DrainedLease.State.WAITING;
          case DRAINED_LEASE_STATE_RECORD_MOVING -> DrainedLease.State.MOVING;
          case DRAINED_LEASE_STATE_RECORD_MOVED -> DrainedLease.State.MOVED;
          case DRAINED_LEASE_STATE_RECORD_STAYS -> DrainedLease.State.STAYS;
          case DRAINED_LEASE_STATE_RECORD_UNSPECIFIED, UNRECOGNIZED ->
              throw new IllegalArgumentException(
                  "no state of drained leases: " + record.getStateValue());
        },
        record.getServer().isEmpty()
            ? null
            : new DrainedLease.Place(record.getServer(), record.getGpu()),
        record.getPauseMillis(),
        record.getReason());
  }

  static ServerRecord server(ServerEntry entry) {
    ServerRecord.Builder record =
        ServerRecord.newBuilder()
            .setName(entry.name())
            .setAddress(entry.endpoint().address())
            .setVersion(entry.version())
            .setBackend(entry.backend())
            .setSinceMillis(entry.sinceMillis())
            .setCallStreamPort(entry.endpoint().callStreamPort())
            .setTls(entry.endpoint().tls())
            .setMps(entry.mps())
            .setMovable(entry.movable());
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
              .setContextBytes(gpu.facts().contextBytes())
              .setNcclVersion(gpu.facts().ncclVersion()));
    }
    return record.build();
  }

  static ServerEntry server(ServerRecord record) {
    return new ServerEntry(
        record.getName(),
        new ServerEndpoint(record.getAddress(), record.getCallStreamPort(), record.getTls()),
        record.getVersion(),
        record.getBackend(),
        record.getGpusList().stream()
            .map(gpu ->
                new Gpu(
                    record.getName(),
                    gpu.getOrdinal(),
                    gpu.getUuid(),
                    new GpuModel(
                        gpu.getName(),
                        gpu.getMemoryBytes(),
                        gpu.getComputeCapability(),
                        gpu.getDriverVersion()),
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
                        gpu.getContextBytes(),
                        gpu.getNcclVersion())))
            .toList(),
        record.getSinceMillis(),
        record.getMps(),
        record.getMovable());
  }

  static ServerStatusRecord status(ServerStatus status) {
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

  /** The length of a status as it is stored. */
  public static int lengthBytes(ServerStatus status) {
    return status(status).getSerializedSize();
  }
}
