// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.CloseSessionReply;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.control.v1.EndSessionReply;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.Held;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListQueueReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.control.v1.VersionReply;
import io.gpupool.control.v1.VersionRequest;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.cluster.SessionTerminations;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.lifecycle.LeaseUpdates;
import io.gpupool.server.lease.model.LeaseCredential;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.queue.QueueEntry;
import io.gpupool.server.lease.queue.QueuedRequest;
import io.gpupool.server.lease.queue.RequestIdentity;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.LeaseRequestValidator;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.refusal.InvalidRequestException;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.Access;
import io.gpupool.server.tenant.Audit;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The gRPC service of the control plane. gRPC calls it on the control thread. */
public final class PoolService extends PoolGrpc.PoolImplBase {
  private static final Logger LOG = LoggerFactory.getLogger(PoolService.class);

  /** Or none at all. */
  private static final Pattern REQUEST_ID = Pattern.compile("([0-9a-f]{32})?");

  /** What the ids of leases begin with that are meant as the caller's own. */
  private static final String OF_POD = "pod/";

  private final LeaseQueue queue;
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final LeaseUpdates updates;
  private final Sessions sessions;
  private final StatusPublisher statuses;
  private final SessionTerminations terminations;
  private final PoolView view;
  private final Audit audit;
  private final int dataPort;
  private final boolean clearCallStreams;

  public PoolService(
      LeaseQueue queue,
      LeaseService leases,
      LeaseFinder finder,
      LeaseUpdates updates,
      Sessions sessions,
      StatusPublisher statuses,
      SessionTerminations terminations,
      PoolView view,
      Audit audit,
      int dataPort,
      boolean clearCallStreams) {
    this.queue = queue;
    this.leases = leases;
    this.finder = finder;
    this.updates = updates;
    this.sessions = sessions;
    this.statuses = statuses;
    this.terminations = terminations;
    this.view = view;
    this.audit = audit;
    this.dataPort = dataPort;
    this.clearCallStreams = clearCallStreams;
  }

  @Override
  public void version(VersionRequest request, StreamObserver<VersionReply> reply) {
    answer(
        reply,
        VersionReply.newBuilder()
            .setVersion(view.version())
            .setCallStreamMin(Versions.CALL_STREAM_MIN)
            .setCallStreamMax(Versions.CALL_STREAM_MAX)
            .setServer(view.server())
            .build());
  }

  @Override
  public void requestLease(LeaseRequest request, StreamObserver<LeaseEvent> reply) {
    ServerCallStreamObserver<LeaseEvent> events = (ServerCallStreamObserver<LeaseEvent>) reply;
    LeaseSpec checked;
    try {
      checked = LeaseRequestValidator.check(request, Access.actor());
    } catch (InvalidRequestException e) {
      refuse(events, Cause.CAUSE_INVALID, e.getMessage());
      return;
    }
    if (!checked.actor().mayUse(checked.tenant())) {
      events.onError(
          Status.PERMISSION_DENIED
              .withDescription(
                  "the token is one of tenant '"
                      + checked.actor().tenant()
                      + "', which cannot ask in the name of '"
                      + checked.tenant()
                      + "'")
              .asRuntimeException());
      return;
    }
    if (checked.pod().isPresent() && checked.actor().role() != Role.ADMIN) {
      events.onError(
          Status.PERMISSION_DENIED
              .withDescription("only an admin asks for leases in the name of pods")
              .asRuntimeException());
      return;
    }
    if (!REQUEST_ID.matcher(request.getRequestId()).matches()) {
      refuse(events, Cause.CAUSE_INVALID, "a request's id is 32 hexadecimal digits");
      return;
    }
    new RequestCall(events).ask(checked, RequestIdentity.of(request));
  }

  @Override
  public StreamObserver<HoldRequest> holdLease(StreamObserver<LeaseEvent> reply) {
    ServerCallStreamObserver<LeaseEvent> events = (ServerCallStreamObserver<LeaseEvent>) reply;
    return new HoldCall(events);
  }

  @Override
  public void releaseLease(ReleaseLeaseRequest request, StreamObserver<ReleaseLeaseReply> reply) {
    Principal principal = Access.actor();
    Optional<QueuedRequest> waiting = findQueued(request.getLeaseId(), principal);
    if (waiting.isPresent()) {
      QueuedRequest queued = waiting.get();
      String reason = "cancelled by " + principal.text() + because(request.getReason());
      audited(
          reply,
          "request.cancel",
          queued.id(),
          queued.spec().holder().toString(),
          () -> queue.cancel(queued, reason),
          ReleaseLeaseReply.getDefaultInstance());
      return;
    }
    // Who has no secret says so by leaving it out, and needs a right to the lease instead.
    Optional<Lease> lease =
        request.getSecret().isEmpty()
            ? finder.find(request.getLeaseId()).filter(l -> principal.mayUse(l.tenant()))
            : find(request.getLeaseId(), request.getSecret());
    if (lease.isEmpty()) {
      reply.onError(
          request.getSecret().isEmpty()
              ? unknown("lease", request.getLeaseId(), "it may have ended")
              : unknownLease(request.getLeaseId()));
      return;
    }
    try {
      leases.release(
          lease.get(),
          principal,
          request.getSecret().isEmpty()
              ? "released by " + principal.text() + because(request.getReason())
              : "released" + because(request.getReason()));
    } catch (StateException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
      return;
    }
    answer(reply, ReleaseLeaseReply.getDefaultInstance());
  }

  @Override
  public void updateLease(UpdateLeaseRequest request, StreamObserver<LeaseInfo> reply) {
    Principal principal = Access.actor();
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
    } catch (InvalidRequestException e) {
      reply.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
      return;
    } catch (RefusedException e) {
      reply.onError(CallStatus.of(e).asRuntimeException());
      return;
    } catch (StateException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
      return;
    }
    answer(reply, changed);
  }

  /** A request of the caller's that waits, at whichever server. */
  private Optional<QueuedRequest> findQueued(String id, Principal principal) {
    return queue.find(id).filter(queued -> principal.mayUse(queued.spec().tenant()));
  }

  private static String because(String reason) {
    return reason.isBlank() ? "" : ": " + HolderName.plain(reason);
  }

  @Override
  public void openSession(OpenSessionRequest request, StreamObserver<OpenSessionReply> reply) {
    Principal principal = Access.actor();
    finder.findWithRetry(
        claim(request.getLeaseId(), request.getSecret(), principal),
        found ->
            openSession(
                request,
                found.filter(lease -> principal.mayUse(lease.tenant(), lease.pod())),
                principal,
                reply));
  }

  private void openSession(
      OpenSessionRequest request,
      Optional<Lease> lease,
      Principal principal,
      StreamObserver<OpenSessionReply> reply) {
    if (lease.isEmpty()) {
      reply.onError(unknownLease(request.getLeaseId(), principal));
      return;
    }
    List<String> servers = lease.get().topology().servers();
    String wanted =
        !request.getServer().isEmpty()
            ? request.getServer()
            : lease.get().isRemote() ? servers.getFirst() : view.server();
    if (!servers.contains(wanted)) {
      reply.onError(
          Status.INVALID_ARGUMENT
              .withDescription(
                  "lease "
                      + lease.get().id()
                      + " has no GPUs of server '"
                      + HolderName.plain(wanted)
                      + "'; it has some of "
                      + String.join(", ", servers))
              .asRuntimeException());
      return;
    }
    if (!wanted.equals(view.server())) {
      view.addressOf(wanted)
          .ifPresentOrElse(
              address -> answer(reply, OpenSessionReply.newBuilder().setElsewhere(address).build()),
              () ->
                  reply.onError(
                      Status.UNAVAILABLE
                          .withDescription(
                              "server "
                                  + wanted
                                  + ", which has GPUs of lease "
                                  + lease.get().id()
                                  + ", is not in the pool now; it may come back")
                          .asRuntimeException()));
      return;
    }
    try {
      DriverEnvironment environment =
          DriverEnvironment.of(
              request.getDriverEnvironmentMap(), (name, value) -> tellIgnored(lease.get(), name));
      Session session =
          sessions.open(lease.get(), HolderName.of(request.getClient()), principal, environment);
      answer(
          reply,
          OpenSessionReply.newBuilder()
              .setSessionId(ByteString.copyFrom(session.id.bytes()))
              .setSessionKey(ByteString.copyFrom(session.key.bytes()))
              .setPeerKey(ByteString.copyFrom(session.peerKey.bytes()))
              .setCallStreamPort(dataPort)
              .setCallStreamClear(clearCallStreams)
              .addAllServers(view.serversOf(lease.get()))
              .setPlace(servers.indexOf(wanted))
              .build());
    } catch (InvalidRequestException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
    }
  }

  private static void tellIgnored(Lease lease, String name) {
    LOG.info(
        "lease {}: {} of a program's environment is ignored: the driver does not know it, or not"
            + " with this value",
        lease.id(),
        HolderName.plain(name));
  }

  @Override
  public void closeSession(CloseSessionRequest request, StreamObserver<CloseSessionReply> reply) {
    try {
      sessions
          .find(
              SessionId.ofBytes(request.getSessionId().toByteArray()),
              SessionKey.ofBytes(request.getSessionKey().toByteArray()))
          .filter(session -> Access.actor().mayUse(session.lease.tenant(), session.lease.pod()))
          .ifPresent(session -> session.end("its program has ended"));
      answer(reply, CloseSessionReply.getDefaultInstance());
    } catch (WireException e) {
      reply.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
    }
  }

  @Override
  public void endSession(EndSessionRequest request, StreamObserver<EndSessionReply> reply) {
    Principal principal = Access.actor();
    Optional<Session> session =
        sessions.all().stream()
            .filter(s -> s.id.toString().equals(request.getId()))
            .filter(s -> s.state() != Session.State.ENDING && principal.mayUse(s.lease.tenant()))
            .findFirst();
    if (session.isEmpty()) {
      endSessionElsewhere(request.getId(), principal, reply);
      return;
    }
    Session found = session.get();
    audited(
        reply,
        "session.end",
        found.lease.id().text() + "/" + found.id,
        found.client.toString(),
        () -> found.end("it was ended by " + principal.text()),
        EndSessionReply.getDefaultInstance());
  }

  private void endSessionElsewhere(
      String id, Principal principal, StreamObserver<EndSessionReply> reply) {
    statuses
        .session(id)
        .filter(s -> !s.getState().equals("ending"))
        .filter(s -> finder.tenantOf(s.getLeaseId()).filter(principal::mayUse).isPresent())
        .ifPresentOrElse(
            session ->
                audited(
                    reply,
                    "session.end",
                    session.getLeaseId() + "/" + session.getId(),
                    HolderName.of(session.getClient()).toString(),
                    () -> terminations.request(id, "it was ended by " + principal.text()),
                    EndSessionReply.getDefaultInstance()),
            () -> reply.onError(unknown("session", id, "it may have ended")));
  }

  /** Does what is not written down itself, once it is noted who did it. */
  private <T> void audited(
      StreamObserver<T> reply,
      String action,
      String subject,
      String detail,
      Change change,
      T answer) {
    try {
      audit.note(Access.actor(), action, subject, detail);
      change.make();
    } catch (StateException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
      return;
    }
    answer(reply, answer);
  }

  private interface Change {
    void make() throws StateException;
  }

  private static StatusRuntimeException unknown(String what, String id, String why) {
    return Status.NOT_FOUND
        .withDescription("there is no " + what + " '" + HolderName.plain(id) + "' of yours; " + why)
        .asRuntimeException();
  }

  @Override
  public void listServers(ListRequest request, StreamObserver<ListServersReply> reply) {
    answer(reply, view.servers());
  }

  @Override
  public void listGpus(ListRequest request, StreamObserver<ListGpusReply> reply) {
    answer(reply, view.gpus());
  }

  @Override
  public void listLeases(ListRequest request, StreamObserver<ListLeasesReply> reply) {
    answer(reply, view.leases(Access.actor()));
  }

  @Override
  public void listQueue(ListRequest request, StreamObserver<ListQueueReply> reply) {
    answer(reply, view.queue(Access.actor()));
  }

  @Override
  public void listSessions(ListRequest request, StreamObserver<ListSessionsReply> reply) {
    answer(reply, view.sessions(Access.actor()));
  }

  @Override
  public void describeLease(
      DescribeLeaseRequest request, StreamObserver<DescribeLeaseReply> reply) {
    Principal principal = Access.actor();
    finder.findWithRetry(
        claim(request.getLeaseId(), request.getSecret(), principal),
        found ->
            found
                .filter(lease -> principal.mayUse(lease.tenant(), lease.pod()))
                .ifPresentOrElse(
                    lease -> answer(reply, view.describe(lease)),
                    () -> reply.onError(unknownLease(request.getLeaseId(), principal))));
  }

  /** A lease whose secret the caller knows, and whose tenant's it is. */
  private Optional<Lease> find(String id, String secret) {
    return finder.find(id, secret).filter(lease -> Access.actor().mayUse(lease.tenant()));
  }

  private static <T> void answer(StreamObserver<T> reply, T message) {
    reply.onNext(message);
    reply.onCompleted();
  }

  private static void refuse(StreamObserver<LeaseEvent> events, Cause cause, String reason) {
    answer(
        events,
        LeaseEvent.newBuilder()
            .setRefused(Refused.newBuilder().setCause(cause).setReason(reason))
            .build());
  }

  /** How a caller means a lease: by its secret, or as the pod's own. */
  private static LeaseCredential claim(String id, String secret, Principal principal) {
    return principal
        .podUid()
        .filter(uid -> id.startsWith(OF_POD))
        .<LeaseCredential>map(uid -> new LeaseCredential.ByPod(uid, id.substring(OF_POD.length())))
        .orElseGet(() -> new LeaseCredential.BySecret(id, secret));
  }

  /** To a pod it is told how long it is to wait; the lease it is about may come yet. */
  private StatusRuntimeException unknownLease(String id, Principal principal) {
    if (principal.podUid().isEmpty() || !id.startsWith(OF_POD)) {
      return unknownLease(id);
    }
    String container = id.substring(OF_POD.length());
    String why =
        queue
            .waitOf(principal.podUid().get(), container)
            .orElse("the pod has no lease, or several of which the container's is not named");
    return Status.NOT_FOUND.withDescription(why).asRuntimeException();
  }

  private static StatusRuntimeException unknownLease(String id) {
    return Status.PERMISSION_DENIED
        .withDescription(
            "there is no lease '"
                + HolderName.plain(id)
                + "' with this secret; it may have ended, ask for a new one")
        .asRuntimeException();
  }

  /** One RequestLease call. */
  private final class RequestCall implements QueueClient {
    private final ServerCallStreamObserver<LeaseEvent> events;
    private final LeaseStream hold;
    private Runnable giveUp = () -> {};
    private boolean answered;

    RequestCall(ServerCallStreamObserver<LeaseEvent> events) {
      this.events = events;
      hold = new LeaseStream(events);
      events.setOnCancelHandler(() -> giveUp.run());
    }

    void ask(LeaseSpec spec, Optional<RequestIdentity> identity) {
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
    public void queued(int place, String reason) {
      events.onNext(
          LeaseEvent.newBuilder()
              .setQueued(Queued.newBuilder().setPosition(place).setReason(reason))
              .build());
    }

    @Override
    public void granted(GrantedLease granted) {
      answered = true;
      giveUp = () -> leases.releaseHold(granted.lease(), hold);
      events.onNext(LeaseEvent.newBuilder().setGranted(view.granted(granted)).build());
    }

    @Override
    public void refused(Cause cause, String reason) {
      answered = true;
      refuse(events, cause, reason);
    }

    @Override
    public void redirected(String reason) {
      answered = true;
      events.onError(Status.UNAVAILABLE.withDescription(reason).asRuntimeException());
    }
  }

  /** One HoldLease call. */
  private final class HoldCall implements StreamObserver<HoldRequest> {
    private final ServerCallStreamObserver<LeaseEvent> events;
    private final LeaseStream hold;
    private Optional<Lease> lease = Optional.empty();
    private boolean refused;

    HoldCall(ServerCallStreamObserver<LeaseEvent> events) {
      this.events = events;
      hold = new LeaseStream(events);
      events.setOnCancelHandler(this::releaseHold);
    }

    @Override
    public void onNext(HoldRequest request) {
      if (lease.isPresent() || refused) {
        return;
      }
      Principal principal = Access.actor();
      if (request.getSecret().isEmpty()) {
        hold(
            request.getLeaseId(),
            finder.find(request.getLeaseId()).filter(l -> principal.mayUse(l.tenant())));
        return;
      }
      finder.findWithRetry(
          new LeaseCredential.BySecret(request.getLeaseId(), request.getSecret()),
          found -> hold(request.getLeaseId(), found.filter(l -> principal.mayUse(l.tenant()))));
    }

    private void hold(String id, Optional<Lease> found) {
      if (events.isCancelled() || lease.isPresent() || refused) {
        return;
      }
      lease = found;
      if (lease.isEmpty()) {
        refused = true;
        events.onError(unknownLease(id));
        return;
      }
      leases.hold(lease.get(), hold);
      events.onNext(LeaseEvent.newBuilder().setHeld(Held.getDefaultInstance()).build());
    }

    @Override
    public void onError(Throwable cause) {
      releaseHold();
    }

    @Override
    public void onCompleted() {
      releaseHold();
      if (!refused && lease.map(l -> l.state().isAlive()).orElse(true) && !events.isCancelled()) {
        events.onCompleted();
      }
    }

    private void releaseHold() {
      lease.ifPresent(l -> leases.releaseHold(l, hold));
    }
  }
}
