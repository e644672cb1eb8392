// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.state.v1.LeaseSuspensionRecord;
import io.gpupool.control.state.v1.SuspensionPhaseRecord;

/** The form of the records of suspensions in the store. */
final class SuspensionForm {
  private SuspensionForm() {}

  static LeaseSuspensionRecord suspension(SuspensionRecord suspension) {
    return LeaseSuspensionRecord.newBuilder()
        .setId(suspension.id())
        .setPart(LeaseForm.part(suspension.part()))
        .setWakesOnCall(suspension.wakesOnCall())
        .setPhase(
            switch (suspension.phase()) {
              case ASKED -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_ASKED;
              case SUSPENDING -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_SUSPENDING;
              case SAVED -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_SAVED;
              case SUSPENDED -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_SUSPENDED;
              case RESUMING -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_RESUMING;
              case FAILED -> SuspensionPhaseRecord.SUSPENSION_PHASE_RECORD_FAILED;
            })
        .setSinceMillis(suspension.sinceMillis())
        .setWantedAtMillis(suspension.wantedAtMillis())
        .setReason(suspension.result().reason())
        .setBytes(suspension.result().bytes())
        .setPauseNanos(suspension.result().pauseNanos())
        .addAllSessions(suspension.sessions())
        .build();
  }

  static SuspensionRecord suspension(LeaseSuspensionRecord record) {
    return new SuspensionRecord(
        record.getId(),
        LeaseForm.part(record.getPart()),
        record.getWakesOnCall(),
        switch (record.getPhase()) {
          case SUSPENSION_PHASE_RECORD_ASKED -> SuspensionRecord.Phase.ASKED;
          case SUSPENSION_PHASE_RECORD_SUSPENDING -> SuspensionRecord.Phase.SUSPENDING;
          case SUSPENSION_PHASE_RECORD_SAVED -> SuspensionRecord.Phase.SAVED;
          case SUSPENSION_PHASE_RECORD_SUSPENDED -> SuspensionRecord.Phase.SUSPENDED;
          case SUSPENSION_PHASE_RECORD_RESUMING -> SuspensionRecord.Phase.RESUMING;
          case SUSPENSION_PHASE_RECORD_FAILED -> SuspensionRecord.Phase.FAILED;
          case SUSPENSION_PHASE_RECORD_UNSPECIFIED, UNRECOGNIZED ->
              throw new IllegalArgumentException(
                  "no phase of suspensions: " + record.getPhaseValue());
        },
        record.getSinceMillis(),
        record.getWantedAtMillis(),
        new SuspensionRecord.Result(record.getReason(), record.getBytes(), record.getPauseNanos()),
        record.getSessionsList());
  }
}
