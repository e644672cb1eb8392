// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import com.google.protobuf.ByteString;
import io.gpupool.control.state.v1.MemoryFileRecord;
import io.gpupool.control.state.v1.RunningGpuRecord;
import io.gpupool.control.state.v1.RunningSessionRecord;
import io.gpupool.runtime.ProcessStart;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.usage.LeaseUsage;
import io.gpupool.server.lease.usage.MemoryFile;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.WireException;
import java.util.ArrayList;
import java.util.List;

/** The form of session records in their files. */
final class SessionRecordForm {
  /** Rises when a server would misunderstand what another one has written. */
  static final int VERSION = 1;

  private SessionRecordForm() {}

  static RunningSessionRecord write(SessionRecord record) {
    WorkerRecord worker = record.worker();
    LeaseUsage usage = record.usage();
    RunningSessionRecord.Builder written =
        RunningSessionRecord.newBuilder()
            .setVersion(VERSION)
            .setWorkerPid(worker.process().pid())
            .setWorkerStarted(worker.process().started())
            .setWorkerToken(worker.token())
            .setWorkerSocket(worker.socket())
            .setSessionId(ByteString.copyFrom(record.keys().id().bytes()))
            .setSessionKey(ByteString.copyFrom(record.keys().key().bytes()))
            .setPeerKey(ByteString.copyFrom(record.keys().peerKey().bytes()))
            .setLease(record.lease().text())
            .addAllGpus(record.place().gpus().stream().map(SessionRecordForm::write).toList())
            .setSlot(record.slot())
            .setClientHost(record.client().host())
            .setClientPid(record.client().pid())
            .setClientProgram(record.client().program())
            .setClientUser(record.client().user())
            .setPrincipal(PrincipalForm.write(record.principal()))
            .setOpenedAtMillis(record.past().openedAtMillis())
            .addAllGrantedBeforeNanos(record.past().grantedBefore())
            .setLedger(write(usage.ledger()))
            .setSchedule(write(usage.schedule()))
            .addAllLeaseSlots(usage.leaseSlots().stream().map(ScheduleSlot::toString).toList())
            .addAllProgramSlots(usage.programSlots().stream().map(ScheduleSlot::toString).toList())
            .setRecordedAtMillis(usage.granted().atMillis())
            .setLeaseAgeMillis(usage.granted().ageMillis())
            .addAllGrantedNanos(usage.granted().nanos());
    if (worker.user() != null) {
      written.setWorkerUser(worker.user());
    }
    return written.build();
  }

  /**
   * Reads a record of this version.
   *
   * @throws WireException if something in it cannot be
   */
  static SessionRecord read(RunningSessionRecord record) throws WireException {
    if (record.getSlot() < 0 || record.getSlot() >= SchedulePage.MAX_SESSIONS) {
      throw new WireException("slot " + record.getSlot());
    }
    if (!RunDirectory.isSocket(record.getWorkerSocket())) {
      throw new WireException("socket " + HolderName.plain(record.getWorkerSocket()));
    }
    return new SessionRecord(
        new SessionKeys(
            SessionId.ofBytes(record.getSessionId().toByteArray()),
            SessionKey.ofBytes(record.getSessionKey().toByteArray()),
            SessionKey.ofBytes(record.getPeerKey().toByteArray())),
        new SessionRecord.Place(
            new LeaseId(record.getLease()),
            record.getGpusList().stream()
                .map(gpu -> new GpuKey(gpu.getServer(), gpu.getCard()))
                .toList(),
            record.getSlot()),
        new HolderName(
            record.getClientHost(),
            record.getClientPid(),
            record.getClientProgram(),
            record.getClientUser()),
        PrincipalForm.read(record.getPrincipal()),
        new WorkerRecord(
            process(record),
            record.getWorkerToken(),
            record.hasWorkerUser() ? record.getWorkerUser() : null,
            record.getWorkerSocket()),
        new LeaseUsage(
            new MemoryFile(record.getLedger().getDevice(), record.getLedger().getInode()),
            new MemoryFile(record.getSchedule().getDevice(), record.getSchedule().getInode()),
            slots(record.getLeaseSlotsList()),
            slots(record.getProgramSlotsList()),
            new LeaseUsage.Granted(
                record.getRecordedAtMillis(),
                record.getLeaseAgeMillis(),
                record.getGrantedNanosList())),
        new SessionRecord.Past(record.getOpenedAtMillis(), record.getGrantedBeforeNanosList()));
  }

  static ProcessStart process(RunningSessionRecord record) {
    return new ProcessStart(record.getWorkerPid(), record.getWorkerStarted());
  }

  private static RunningGpuRecord write(GpuKey gpu) {
    return RunningGpuRecord.newBuilder().setServer(gpu.server()).setCard(gpu.card()).build();
  }

  private static MemoryFileRecord write(MemoryFile file) {
    return MemoryFileRecord.newBuilder().setDevice(file.device()).setInode(file.inode()).build();
  }

  private static List<ScheduleSlot> slots(List<String> texts) throws WireException {
    List<ScheduleSlot> slots = new ArrayList<>();
    for (String text : texts) {
      slots.add(ScheduleSlot.parse(text));
    }
    return slots;
  }
}
