// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.rejection.RejectionDetail;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.lifecycle.LeaseUpdates;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueuedRequest;
import io.gpupool.server.lease.queue.RequestIdentity;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.LeaseRequestValidator;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.InvalidFieldException;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.LeaseView;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import java.util.regex.Pattern;

/** The calls about leases: request, hold, release and update. Runs on the control thread. */
public final class LeaseCalls {
  /** Or none at all. */
  private static final Pattern REQUEST_ID = Pattern.compile("([0-9a-f]{32})?");

  private final LeaseQueue queue;
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final LeaseLookup lookup;
  private final LeaseUpdates updates;
  private final LeaseMoveCall moving;
  private final LeaseView view;
  private final AuditedCalls audited;

  public LeaseCalls(
      LeaseQueue queue,
      LeaseService leases,
      LeaseFinder finder,
      LeaseUpdates updates,
      LeaseMoveCall moving,
      LeaseView view,
      Audit audit) {
    this.queue = queue;
    this.leases = leases;
    this.finder = finder;
    this.updates = updates;
    this.moving = moving;
    this.view = view;
    lookup = new LeaseLookup(finder, queue);
    audited = new AuditedCalls(audit);
  }

  void request(LeaseRequest request, ServerCallStreamObserver<LeaseEvent> events) {
    LeaseSpec checked;
    try {
      checked = LeaseRequestValidator.check(request, AuthInterceptor.principal());
    } catch (InvalidFieldException e) {
      Replies.refuse(events, new LeaseRefusal(e.reason(), "", 0));
      return;
    }
    if (!checked.principal().mayUse(checked.tenant())) {
      events.onError(
          Replies.denied(
              "the token is one of tenant '"
                  + checked.principal().tenant()
                  + "', which cannot ask in the name of '"
                  + checked.tenant()
                  + "'"));
      return;
    }
    if (checked.pod().isPresent() && checked.principal().role() != Role.ADMIN) {
      events.onError(Replies.denied("only an admin asks for leases in the name of pods"));
      return;
    }
    if (!REQUEST_ID.matcher(request.getRequestId()).matches()) {
      RejectionReason invalid =
          new RejectionReason.InvalidField(
              "request_id",
              "'" + HolderName.plain(request.getRequestId()) + "'",
              "32 hexadecimal digits");
      Replies.refuse(events, new LeaseRefusal(invalid, "", 0));
      return;
    }
    new LeaseRequestCall(events, queue, leases, view)
        .ask(checked, RequestIdentity.of(request).orElse(null));
  }

  StreamObserver<HoldRequest> hold(ServerCallStreamObserver<LeaseEvent> events) {
    return new LeaseHoldCall(events, leases, finder);
  }

  void release(ReleaseLeaseRequest request, StreamObserver<ReleaseLeaseReply> reply) {
    Principal principal = AuthInterceptor.principal();
    if (request.getLeaseId().isEmpty() && !request.getSecret().isEmpty()) {
      withdraw(LeaseSecret.of(request.getSecret()), principal, reply);
      return;
    }
    Optional<QueuedRequest> waiting = findQueued(request.getLeaseId(), principal);
    if (waiting.isPresent()) {
      QueuedRequest queued = waiting.get();
      RejectionReason.Cancelled reason =
          new RejectionReason.Cancelled(
              principal.text(), HolderName.plain(request.getReason()).strip());
      audited.run(
          reply,
          "request.cancel",
          queued.id(),
          queued.spec().holder().toString(),
          () -> queue.cancel(queued, reason),
          ReleaseLeaseReply.getDefaultInstance());
      return;
    }
    String secret = request.getSecret();
    Optional<Lease> lease = lookup.find(request.getLeaseId(), secret, principal);
    if (lease.isEmpty()) {
      reply.onError(
          secret.isEmpty()
              ? Replies.unknown("lease", request.getLeaseId(), "it may have ended")
              : LeaseLookup.unknownSecret(request.getLeaseId()));
      return;
    }
    release(
        lease.get(),
        principal,
        secret.isEmpty()
            ? "released by " + principal.text() + because(request.getReason())
            : "released" + because(request.getReason()),
        reply);
  }

  private void release(
      Lease lease, Principal principal, String reason, StreamObserver<ReleaseLeaseReply> reply) {
    try {
      leases.release(lease, principal, reason);
    } catch (StateException e) {
      Replies.fail(reply, e);
      return;
    }
    Replies.answer(reply, ReleaseLeaseReply.getDefaultInstance());
  }

  /** Its client cannot know whether it waits or was granted, and knows no id of either. */
  private void withdraw(
      LeaseSecret secret, Principal principal, StreamObserver<ReleaseLeaseReply> reply) {
    queue.withdraw(secret, principal);
    Optional<Lease> lease =
        finder.find(secret).map(GrantedLease::lease).filter(l -> principal.mayUse(l.tenant()));
    if (lease.isEmpty()) {
      Replies.answer(reply, ReleaseLeaseReply.getDefaultInstance());
    } else {
      release(lease.get(), principal, "its request was withdrawn", reply);
    }
  }

  void update(UpdateLeaseRequest request, StreamObserver<LeaseInfo> reply) {
    Principal principal = AuthInterceptor.principal();
    LeaseInfo changed;
    try {
      LeaseChange change = LeaseChange.of(request);
      if (findQueued(request.getLeaseId(), principal).isPresent()) {
        throw new RefusedException(
            RefusedException.Why.IN_USE,
            "request "
                + HolderName.plain(request.getLeaseId())
                + " waits and has no lease yet; change the lease once it is granted, or release the"
                + " request and ask for another");
      }
      changed = view.lease(updates.update(request.getLeaseId(), change, principal));
    } catch (InvalidFieldException e) {
      reply.onError(RejectionDetail.failure(Status.INVALID_ARGUMENT, e.reason().message()));
      return;
    } catch (RefusedException e) {
      reply.onError(CallStatus.failure(e));
      return;
    } catch (StateException e) {
      Replies.fail(reply, e);
      return;
    }
    Replies.answer(reply, changed);
  }

  void move(MoveLeaseRequest request, StreamObserver<MoveLeaseReply> reply) {
    moving.move(request, reply);
  }

  /** A request of the caller's that waits at this server or another. */
  private Optional<QueuedRequest> findQueued(String id, Principal principal) {
    return queue.find(id).filter(queued -> principal.mayUse(queued.spec().tenant()));
  }

  private static String because(String reason) {
    return reason.isBlank() ? "" : ": " + HolderName.plain(reason);
  }
}
