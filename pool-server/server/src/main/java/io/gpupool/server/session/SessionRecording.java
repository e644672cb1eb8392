// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.takeover.SessionRecord;
import io.gpupool.server.takeover.SessionRecords;
import io.gpupool.server.takeover.WorkerRecord;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The record of one session for the server's next process. Owned by the control thread. */
final class SessionRecording {
  private final SessionRecords records;
  private final Timers timers;
  private boolean there;

  SessionRecording(SessionRecords records, Timers timers) {
    this.records = records;
    this.timers = timers;
  }

  /** Returns whether the server's next process finds a record. */
  boolean isThere() {
    return there;
  }

  /** Notes that the server's former process has written one. */
  void found() {
    there = true;
  }

  /** Writes the record of a session that can outlive this process, in place of an earlier one. */
  void write(Session session, SessionPast past) {
    Optional<WorkerRecord> worker = session.worker().record();
    if (!session.canResume() || worker.isEmpty()) {
      return;
    }
    long nowNanos = timers.nowNanos();
    long nowMillis = timers.wallMillis();
    there =
        records.write(
            new SessionRecord(
                session.keys(),
                new SessionRecord.Place(
                    session.lease().id(),
                    session.lease().parts().stream().map(part -> GpuKey.of(part.gpu())).toList(),
                    session.slot()),
                session.client(),
                session.program().principal(),
                worker.get(),
                session.lease().usage(session.slot(), nowNanos, nowMillis),
                new SessionRecord.Past(
                    nowMillis - TimeUnit.NANOSECONDS.toMillis(nowNanos - past.openedAtNanos()),
                    past.grantedBefore())));
  }

  /** Deletes the record that was written: the session is gone. */
  void delete(Session session) {
    if (there) {
      records.delete(session.id(), session.workerPid());
      there = false;
    }
  }
}
