// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.state.StateException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** The answers to gRPC calls. */
final class Replies {
  private Replies() {}

  static <T> void answer(StreamObserver<T> reply, T message) {
    reply.onNext(message);
    reply.onCompleted();
  }

  static void refuse(StreamObserver<LeaseEvent> events, LeaseRefusal refusal) {
    answer(events, LeaseEvent.newBuilder().setRefused(refusal.message()).build());
  }

  /** Returns whether nobody waits for the answer any more. */
  static boolean isCancelled(StreamObserver<?> reply) {
    return reply instanceof ServerCallStreamObserver<?> call && call.isCancelled();
  }

  /** The answer where something cannot be recorded. */
  static void fail(StreamObserver<?> reply, StateException e) {
    reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
  }

  static StatusRuntimeException denied(String reason) {
    return Status.PERMISSION_DENIED.withDescription(reason).asRuntimeException();
  }

  static StatusRuntimeException unknown(String what, String id, String why) {
    return Status.NOT_FOUND
        .withDescription("there is no " + what + " '" + HolderName.plain(id) + "' of yours; " + why)
        .asRuntimeException();
  }
}
