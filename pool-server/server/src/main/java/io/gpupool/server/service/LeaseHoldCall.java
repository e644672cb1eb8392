// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.Held;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.model.LeaseCredential;
import io.gpupool.server.tenant.AuthInterceptor;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/** A HoldLease call: holds a lease for as long as it lasts. Runs on the control thread. */
final class LeaseHoldCall implements StreamObserver<HoldRequest> {
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final ServerCallStreamObserver<LeaseEvent> events;
  private final LeaseStream hold;
  private @Nullable Lease lease;
  private boolean refused;

  LeaseHoldCall(
      ServerCallStreamObserver<LeaseEvent> events, LeaseService leases, LeaseFinder finder) {
    this.leases = leases;
    this.finder = finder;
    this.events = events;
    hold = new LeaseStream(events);
    events.setOnCancelHandler(this::loseHold);
  }

  @Override
  public void onNext(HoldRequest request) {
    if (lease != null || refused) {
      return;
    }
    Principal principal = AuthInterceptor.principal();
    if (request.getSecret().isEmpty()) {
      hold(
          request.getLeaseId(),
          finder.find(request.getLeaseId()).filter(l -> principal.mayUse(l.tenant())).orElse(null));
      return;
    }
    finder.findWithRetry(
        new LeaseCredential.BySecret(request.getLeaseId(), request.getSecret()),
        found ->
            hold(
                request.getLeaseId(),
                found.filter(l -> principal.mayUse(l.tenant())).orElse(null)));
  }

  private void hold(String id, @Nullable Lease found) {
    if (events.isCancelled() || lease != null || refused) {
      return;
    }
    lease = found;
    if (lease == null) {
      refused = true;
      events.onError(LeaseLookup.unknownSecret(id));
      return;
    }
    leases.hold(lease, hold);
    events.onNext(LeaseEvent.newBuilder().setHeld(Held.getDefaultInstance()).build());
  }

  @Override
  public void onError(Throwable cause) {
    loseHold();
  }

  @Override
  public void onCompleted() {
    if (lease != null) {
      leases.releaseHold(lease, hold);
    }
    if (!refused && (lease == null || lease.state().isAlive()) && !events.isCancelled()) {
      events.onCompleted();
    }
  }

  private void loseHold() {
    if (lease != null) {
      leases.loseHold(lease, hold);
    }
  }
}
