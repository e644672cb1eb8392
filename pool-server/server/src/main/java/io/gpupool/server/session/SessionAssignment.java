// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.worker.Worker;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.wire.TextMessage;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The message that gives a worker its session: {@code type=assign}. */
final class SessionAssignment {
  private SessionAssignment() {}

  /**
   * Makes the message for the worker that a session has taken.
   *
   * @param restores whether it is to restore the session from another worker
   */
  static TextMessage message(Session session, Worker taken, boolean restores) {
    Lease lease = session.lease();
    return TextMessage.ofType("assign")
        .putIfPresent("visible", taken.seesAssigned ? uuids(lease) : null)
        .put(
            "uuids",
            lease.topology().own().stream()
                .map(part -> part.gpu().uuid())
                .collect(Collectors.joining(",")))
        .putIfPresent("threads", taken.seesAssigned ? smallestPart(lease) : null)
        .put("session", session.id().toString())
        .put("lease", lease.id().text())
        .put("program", session.client().toString())
        .put("environment", session.program().environment().text())
        .put("slot", session.slot())
        .putIfPresent("restore", restores ? "1" : null)
        .put("inbox", 1)
        .putIfPresent("resumeWindow", session.canResume() ? resumeWindow(session) : null)
        .put("addressSlot", Objects.requireNonNull(lease.topology().place()))
        .putIfPresent("leaseSlots", text(lease.time().leaseSlots(session.slot())))
        .putIfPresent("programSlots", text(lease.time().programSlots(session.slot())))
        .put(
            "gpus",
            lease.topology().own().stream()
                .map(part ->
                    part.gpu().ordinal()
                        + ":"
                        + part.share().memoryBytes()
                        + ":"
                        + Math.max(1, Math.round(part.share().computePercent())))
                .collect(Collectors.joining(",")))
        .build();
  }

  private static String resumeWindow(Session session) {
    return Long.toString(session.resumeWindowMillis());
  }

  private static @Nullable String text(List<ScheduleSlot> places) {
    return places.isEmpty()
        ? null
        : places.stream().map(ScheduleSlot::toString).collect(Collectors.joining(","));
  }

  private static String uuids(Lease lease) {
    return lease.parts().stream().map(part -> part.gpu().uuid()).collect(Collectors.joining(","));
  }

  /** MPS has one figure for all GPUs of a process. */
  private static String smallestPart(Lease lease) {
    double percent =
        lease.parts().stream().mapToDouble(part -> part.share().computePercent()).min().orElse(100);
    return Long.toString(Math.max(1, Math.round(percent)));
  }
}
