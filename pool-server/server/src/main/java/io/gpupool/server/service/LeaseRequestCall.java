// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.Queued;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.queue.QueueEntry;
import io.gpupool.server.lease.queue.RequestIdentity;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.view.LeaseView;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import org.jspecify.annotations.Nullable;

/** A RequestLease call: asks for a lease and holds it. Runs on the control thread. */
final class LeaseRequestCall implements QueueClient {
  private final LeaseQueue queue;
  private final LeaseService leases;
  private final LeaseView view;
  private final ServerCallStreamObserver<LeaseEvent> events;
  private final LeaseStream hold;
  private Runnable giveUp = () -> {};
  private boolean answered;

  LeaseRequestCall(
      ServerCallStreamObserver<LeaseEvent> events,
      LeaseQueue queue,
      LeaseService leases,
      LeaseView view) {
    this.queue = queue;
    this.leases = leases;
    this.view = view;
    this.events = events;
    hold = new LeaseStream(events);
    events.setOnCancelHandler(() -> giveUp.run());
  }

  void ask(LeaseSpec spec, @Nullable RequestIdentity identity) {
    QueueEntry entry = queue.ask(spec, this, identity);
    if (!answered) {
      giveUp = () -> queue.withdraw(entry);
    }
  }

  @Override
  public LeaseHold hold() {
    return hold;
  }

  @Override
  public void queued(int place, RejectionReason reason) {
    events.onNext(
        LeaseEvent.newBuilder()
            .setQueued(Queued.newBuilder().setPosition(place).setReason(reason.message()))
            .build());
  }

  @Override
  public void granted(GrantedLease granted) {
    answered = true;
    giveUp = () -> leases.loseHold(granted.lease(), hold);
    events.onNext(LeaseEvent.newBuilder().setGranted(view.granted(granted)).build());
  }

  @Override
  public void refused(LeaseRefusal refusal) {
    answered = true;
    Replies.refuse(events, refusal);
  }

  @Override
  public void redirected(String reason) {
    answered = true;
    events.onError(Status.UNAVAILABLE.withDescription(reason).asRuntimeException());
  }
}
