// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.rejection.RejectionDetail;
import io.gpupool.server.rejection.RefusedException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/** The gRPC status of each reason for which a change is refused. */
final class CallStatus {
  private CallStatus() {}

  /** Returns the failure of a call that is refused, with the reason as data if there is one. */
  static StatusRuntimeException failure(RefusedException refusal) {
    Status status = of(refusal.why());
    return refusal
        .reason()
        .map(reason ->
            RejectionDetail.failure(status, String.valueOf(refusal.getMessage()), reason.message()))
        .orElseGet(() -> status.withDescription(refusal.getMessage()).asRuntimeException());
  }

  private static Status of(RefusedException.Why why) {
    return switch (why) {
      case INVALID -> Status.INVALID_ARGUMENT;
      case NOT_FOUND -> Status.NOT_FOUND;
      case EXISTS -> Status.ALREADY_EXISTS;
      case IN_USE -> Status.FAILED_PRECONDITION;
      case CHANGED -> Status.ABORTED;
      case DENIED -> Status.PERMISSION_DENIED;
    };
  }
}
