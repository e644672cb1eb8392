// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.ResumeLeaseReply;
import io.gpupool.control.v1.ResumeLeaseRequest;
import io.gpupool.control.v1.SuspendLeaseReply;
import io.gpupool.control.v1.SuspendLeaseRequest;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.suspend.LeaseSuspensions;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.records.SuspensionRecord.Phase;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.session.SessionSuspensions;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.ServerDirectory;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The calls that suspend and resume a lease. Runs on the control thread. */
public record LeaseSuspendCall(
    LeaseSuspensions suspensions,
    SessionSuspensions sessions,
    LeaseFinder finder,
    Capacity capacity,
    ServerDirectory directory) {
  /** Longer than the lease's server lets it take. */
  private static final long SUSPEND_LIMIT_MILLIS = 330_000;

  private static final long MAX_WAIT_MILLIS = 24L * 3600 * 1000;

  void suspend(SuspendLeaseRequest request, StreamObserver<SuspendLeaseReply> reply) {
    try {
      SuspensionRecord begun =
          suspensions.begin(
              request.getLeaseId(), request.getWakesOnCall(), AuthInterceptor.principal());
      LeaseId id = new LeaseId(request.getLeaseId());
      sessions.whenNoLonger(
          id,
          begun.id(),
          LeaseSuspendCall::isUnderWay,
          SUSPEND_LIMIT_MILLIS,
          record -> answerSuspend(id, record.orElse(null), reply));
    } catch (RefusedException e) {
      reply.onError(CallStatus.failure(e));
    } catch (StateException e) {
      Replies.fail(reply, e);
    }
  }

  /** Returns whether it is not known what comes of a suspension, or its share is not free yet. */
  private static boolean isUnderWay(SuspensionRecord record) {
    return record.isSaving() || record.phase() == Phase.SAVED;
  }

  private void answerSuspend(
      LeaseId id, @Nullable SuspensionRecord suspended, StreamObserver<SuspendLeaseReply> reply) {
    if (Replies.isCancelled(reply)) {
      return;
    }
    if (suspended == null || !suspended.isSaved()) {
      String reason = suspended == null ? "it has ended" : suspended.result().reason();
      reply.onError(failed("lease " + id + " is not suspended: " + reason));
      return;
    }
    SuspendLeaseReply.Builder answer =
        SuspendLeaseReply.newBuilder()
            .setSessions(suspended.sessions().size())
            .setBytes(suspended.result().bytes());
    Optional<Gpu> gpu = capacity.gpu(suspended.part().gpu());
    gpu.ifPresent(found -> answer.setFreed(directory.grant(suspended.part().on(found))));
    Replies.answer(reply, answer.build());
  }

  void resume(ResumeLeaseRequest request, StreamObserver<ResumeLeaseReply> reply) {
    try {
      SuspensionRecord suspension =
          suspensions.resume(request.getLeaseId(), AuthInterceptor.principal());
      LeaseId id = new LeaseId(request.getLeaseId());
      sessions.whenNoLonger(
          id,
          suspension.id(),
          _ -> true,
          Math.clamp(request.getWaitMillis(), 0, MAX_WAIT_MILLIS),
          record -> answerResume(id, suspension, record.orElse(null), reply));
    } catch (RefusedException e) {
      reply.onError(CallStatus.failure(e));
    } catch (StateException e) {
      Replies.fail(reply, e);
    }
  }

  private void answerResume(
      LeaseId id,
      SuspensionRecord suspension,
      @Nullable SuspensionRecord still,
      StreamObserver<ResumeLeaseReply> reply) {
    if (Replies.isCancelled(reply)) {
      return;
    }
    Optional<Lease> lease = finder.find(id.text());
    if (still != null) {
      String reason = still.result().reason();
      reply.onError(
          Status.UNAVAILABLE
              .withDescription(
                  "lease "
                      + id
                      + " is not resumed yet"
                      + (reason.isEmpty() ? "" : ": " + reason)
                      + "; it will be as soon as it can")
              .asRuntimeException());
    } else if (lease.isEmpty()) {
      reply.onError(failed("lease " + id + " is not resumed: it has ended"));
    } else {
      Replies.answer(
          reply,
          ResumeLeaseReply.newBuilder()
              .setGrant(directory.grant(lease.get().parts().getFirst()))
              .setSessions(suspension.sessions().size())
              .build());
    }
  }

  private static StatusRuntimeException failed(String message) {
    return Status.FAILED_PRECONDITION.withDescription(message).asRuntimeException();
  }
}
