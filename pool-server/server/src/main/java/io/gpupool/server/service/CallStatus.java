// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.server.rejection.RefusedException;
import io.grpc.Status;

/** The gRPC status of each reason for which a change is refused. */
final class CallStatus {
  private CallStatus() {}

  static Status of(RefusedException refusal) {
    return of(refusal.why()).withDescription(refusal.getMessage());
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
