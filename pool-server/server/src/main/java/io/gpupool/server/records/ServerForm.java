// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.DrainRecord;
import io.gpupool.control.state.v1.GpuRecord;
import io.gpupool.control.state.v1.ServerRecord;
import io.gpupool.control.state.v1.ServerStatusRecord;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import java.util.stream.Collectors;

/** The stored form of servers, their drains and their status. */
public final class ServerForm {
  private ServerForm() {}

  static DrainRecord drain(Drain drain) {
    DrainRecord.Builder record =
        DrainRecord.newBuilder()
            .setActor(drain.actor())
            .setSinceMillis(drain.sinceMillis())
            .setStopping(drain.stopping());
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
        record.getStopping());
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
                        gpu.getContextBytes())))
            .toList(),
        record.getSinceMillis(),
        record.getMps());
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
