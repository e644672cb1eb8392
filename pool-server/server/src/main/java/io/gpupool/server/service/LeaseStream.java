// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.Ended;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.server.lease.model.LeaseHold;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;

/** A gRPC stream that holds a lease. Runs on the control thread. */
final class LeaseStream implements LeaseHold {
  private final ServerCallStreamObserver<LeaseEvent> events;

  LeaseStream(ServerCallStreamObserver<LeaseEvent> events) {
    this.events = events;
  }

  @Override
  public void redirected() {
    if (!events.isCancelled()) {
      events.onError(
          Status.UNAVAILABLE
              .withDescription("hold the lease anew: it has moved, or this server is leaving")
              .asRuntimeException());
    }
  }

  @Override
  public void ended(String reason) {
    if (!events.isCancelled()) {
      events.onNext(LeaseEvent.newBuilder().setEnded(Ended.newBuilder().setReason(reason)).build());
      events.onCompleted();
    }
  }
}
