// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.server.lease.move.Destination;
import io.gpupool.server.lease.move.LeaseMoves;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.session.SessionMoves;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.ServerDirectory;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The call that moves a lease. Runs on the control thread. */
public record LeaseMoveCall(LeaseMoves moves, SessionMoves sessions, ServerDirectory directory) {
  void move(MoveLeaseRequest request, StreamObserver<MoveLeaseReply> reply) {
    LeaseMoves.Begun begun;
    try {
      begun =
          moves.begin(
              request.getLeaseId(),
              new Destination(request.getServer(), request.hasGpu() ? request.getGpu() : null),
              AuthInterceptor.principal());
    } catch (RefusedException e) {
      reply.onError(CallStatus.failure(e));
      return;
    } catch (StateException e) {
      Replies.fail(reply, e);
      return;
    }
    sessions.whenOver(
        begun.lease(), begun.id(), record -> answer(begun, record.orElse(null), reply));
  }

  private void answer(
      LeaseMoves.Begun begun, @Nullable MoveRecord moved, StreamObserver<MoveLeaseReply> reply) {
    if (Replies.isCancelled(reply)) {
      return;
    }
    if (moved == null || moved.phase() != MoveRecord.Phase.MOVED) {
      reply.onError(
          Status.FAILED_PRECONDITION
              .withDescription(
                  "lease "
                      + begun.lease()
                      + " has not moved: "
                      + (moved == null ? "it has ended" : moved.result().reason()))
              .asRuntimeException());
      return;
    }
    Replies.answer(
        reply,
        MoveLeaseReply.newBuilder()
            .setFrom(directory.grant(begun.from()))
            .setTo(directory.grant(begun.to()))
            .setSessions(moved.sessions().size())
            .setBytes(moved.result().bytes())
            .setPauseMillis(TimeUnit.NANOSECONDS.toMillis(moved.result().pauseNanos()))
            .build());
  }
}
