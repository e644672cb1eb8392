// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.CloseSessionReply;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.EndSessionReply;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.SessionTerminations;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.session.StreamSeal;
import io.gpupool.server.state.StateException;
import io.gpupool.server.stream.LocalSocket;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.PoolView;
import io.gpupool.server.view.ServerDirectory;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.LocalSocketName;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.WireException;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls about sessions: open, resume, close and end. Runs on the control thread. */
public final class SessionCalls {
  /** Less than agents wait for an answer. */
  private static final long RESUME_WAIT_MILLIS = 8000;

  private static final Logger LOG = LoggerFactory.getLogger(SessionCalls.class);

  private final LeaseLookup lookup;
  private final Sessions sessions;
  private final StatusPublisher statuses;
  private final SessionTerminations terminations;
  private final ServerDirectory directory;
  private final PoolView view;
  private final AuditedCalls audited;
  private final CallStreams streams;
  private final SessionResumeCall resuming;

  /**
   * The port for call streams.
   *
   * @param isClear whether it does not speak TLS although the other ports do
   * @param seals whether it speaks TLS, and call streams of programs that can are sealed instead
   * @param local the socket of those of this machine; null: there is none
   */
  public record CallStreams(int port, boolean isClear, boolean seals, @Nullable LocalSocket local) {
    /** Returns the name of the local socket that a caller may use; empty: none. */
    String localName(boolean canShareMemory, String namespace) {
      return Optional.ofNullable(local)
          .filter(socket -> canShareMemory)
          .flatMap(socket -> socket.nameFor(namespace))
          .map(LocalSocketName::text)
          .orElse("");
    }
  }

  public SessionCalls(
      LeaseLookup lookup,
      Sessions sessions,
      StatusPublisher statuses,
      SessionTerminations terminations,
      PoolView view,
      Audit audit,
      CallStreams streams) {
    this.lookup = lookup;
    this.sessions = sessions;
    this.statuses = statuses;
    this.terminations = terminations;
    this.view = view;
    this.streams = streams;
    directory = view.directory();
    audited = new AuditedCalls(audit);
    resuming = new SessionResumeCall(sessions, lookup.finder(), directory, streams);
  }

  void open(OpenSessionRequest request, StreamObserver<OpenSessionReply> reply) {
    Principal principal = AuthInterceptor.principal();
    lookup.find(
        request.getLeaseId(),
        request.getSecret(),
        principal,
        found -> open(request, found.orElse(null), principal, reply));
  }

  private void open(
      OpenSessionRequest request,
      @Nullable Lease lease,
      Principal principal,
      StreamObserver<OpenSessionReply> reply) {
    if (lease == null) {
      reply.onError(lookup.unknown(request.getLeaseId(), principal));
      return;
    }
    List<String> servers = lease.topology().servers();
    String wanted =
        !request.getServer().isEmpty()
            ? request.getServer()
            : lease.isRemote() ? servers.getFirst() : directory.name();
    if (!servers.contains(wanted)) {
      reply.onError(
          Status.INVALID_ARGUMENT
              .withDescription(
                  "lease "
                      + lease.id()
                      + " has no GPUs of server '"
                      + HolderName.plain(wanted)
                      + "'; it has some of "
                      + String.join(", ", servers))
              .asRuntimeException());
      return;
    }
    if (!wanted.equals(directory.name())) {
      directory
          .addressOf(wanted)
          .ifPresentOrElse(
              address ->
                  Replies.answer(
                      reply, OpenSessionReply.newBuilder().setElsewhere(address).build()),
              () ->
                  reply.onError(
                      Status.UNAVAILABLE
                          .withDescription(
                              "server "
                                  + wanted
                                  + ", which has GPUs of lease "
                                  + lease.id()
                                  + ", is not in the pool now; it may come back")
                          .asRuntimeException()));
      return;
    }
    if (sessions.isLeaving(lease)) {
      sessions.whenSettled(lease.id(), () -> openLater(request, principal, reply));
      return;
    }
    Optional<SuspensionRecord> suspension = sessions.suspensions().of(lease.id());
    if (suspension.isPresent()) {
      openSuspended(request, lease, principal, suspension.get(), reply);
      return;
    }
    openHere(request, lease, principal, reply);
  }

  /** A new program resumes its lease as a call of one that is there does. */
  private void openSuspended(
      OpenSessionRequest request,
      Lease lease,
      Principal principal,
      SuspensionRecord suspension,
      StreamObserver<OpenSessionReply> reply) {
    if (!suspension.wakesOnCall() && !suspension.isWanted()) {
      reply.onError(
          Status.FAILED_PRECONDITION
              .withDescription(
                  "lease "
                      + lease.id()
                      + " is suspended; resume it with 'gpupool lease resume "
                      + lease.id()
                      + "'")
              .asRuntimeException());
      return;
    }
    try {
      sessions.suspensions().want(lease.id(), principal);
    } catch (StateException e) {
      Replies.fail(reply, e);
      return;
    }
    sessions
        .suspensions()
        .whenNoLonger(
            lease.id(),
            suspension.id(),
            SuspensionRecord::isSaved,
            RESUME_WAIT_MILLIS,
            record ->
                record
                    .filter(SuspensionRecord::isSaved)
                    .ifPresentOrElse(
                        still ->
                            reply.onError(
                                Status.UNAVAILABLE
                                    .withDescription(
                                        "lease "
                                            + lease.id()
                                            + " is suspended and cannot be resumed yet: "
                                            + still.result().reason()
                                            + "; try again")
                                    .asRuntimeException()),
                        () -> openLater(request, principal, reply)));
  }

  /** The lease was about to move, or to be suspended or resumed. */
  private void openLater(
      OpenSessionRequest request, Principal principal, StreamObserver<OpenSessionReply> reply) {
    if (Replies.isCancelled(reply)) {
      return;
    }
    lookup.find(
        request.getLeaseId(),
        request.getSecret(),
        principal,
        found -> open(request, found.orElse(null), principal, reply));
  }

  private void openHere(
      OpenSessionRequest request,
      Lease lease,
      Principal principal,
      StreamObserver<OpenSessionReply> reply) {
    try {
      DriverEnvironment environment =
          DriverEnvironment.of(variables(request), (name, value) -> logIgnored(lease, name));
      Session session =
          sessions.open(lease, HolderName.of(request.getClient()), principal, environment);
      OpenSessionReply.Builder answer =
          OpenSessionReply.newBuilder()
              .setSessionId(ByteString.copyFrom(session.id().bytes()))
              .setSessionKey(ByteString.copyFrom(session.key().bytes()))
              .setPeerKey(ByteString.copyFrom(session.peerKey().bytes()))
              .setCallStreamPort(streams.port())
              .setCallStreamClear(streams.isClear())
              .setLocalSocket(
                  streams.localName(request.getCanShareMemory(), request.getNetworkNamespace()))
              .setResumeWindowMillis(session.resumeWindowMillis())
              .addAllServers(view.leases().serversOf(lease))
              .setPlace(lease.topology().servers().indexOf(directory.name()));
      if (streams.seals() && request.getCanSeal()) {
        StreamSeal seal = sessions.seal(session);
        answer
            .setSealSecret(ByteString.copyFrom(seal.secret().bytes()))
            .setConnectKey(ByteString.copyFrom(seal.key().bytes()));
      }
      Replies.answer(reply, answer.build());
    } catch (InvalidRequestException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
    }
  }

  private static Map<String, String> variables(OpenSessionRequest request) {
    Map<String, String> variables = new LinkedHashMap<>();
    request
        .getDriverEnvironmentList()
        .forEach(variable -> variables.put(variable.getName(), variable.getValue()));
    return variables;
  }

  private static void logIgnored(Lease lease, String name) {
    LOG.info(
        "lease {}: {} of a program's environment is ignored: the driver does not know it, or not"
            + " with this value",
        lease.id(),
        HolderName.plain(name));
  }

  void resume(ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply) {
    resuming.resume(request, reply);
  }

  void close(CloseSessionRequest request, StreamObserver<CloseSessionReply> reply) {
    try {
      SessionId id = SessionId.ofBytes(request.getSessionId().toByteArray());
      Optional<String> elsewhere =
          resuming
              .movedWith(id)
              .map(lease -> lease.topology().home())
              .filter(home -> !home.equals(directory.name()))
              .flatMap(directory::addressOf);
      if (elsewhere.isPresent()) {
        Replies.answer(reply, CloseSessionReply.newBuilder().setElsewhere(elsewhere.get()).build());
        return;
      }
      SessionKey key = SessionKey.ofBytes(request.getSessionKey().toByteArray());
      sessions.suspensions().close(id, key);
      sessions
          .find(id, key)
          .filter(session ->
              AuthInterceptor.principal()
                  .mayUse(session.lease().tenant(), session.lease().pod().orElse(null)))
          .ifPresent(session -> session.end("its program has ended"));
      Replies.answer(reply, CloseSessionReply.getDefaultInstance());
    } catch (WireException e) {
      reply.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
    } catch (StateException e) {
      Replies.fail(reply, e);
    }
  }

  void end(EndSessionRequest request, StreamObserver<EndSessionReply> reply) {
    Principal principal = AuthInterceptor.principal();
    Optional<Session> session =
        sessions.all().stream()
            .filter(s -> s.id().toString().equals(request.getId()))
            .filter(s -> s.state() != Session.State.ENDING && principal.mayUse(s.lease().tenant()))
            .findFirst();
    if (session.isEmpty()) {
      endElsewhere(request.getId(), principal, reply);
      return;
    }
    Session found = session.get();
    audited.run(
        reply,
        "session.end",
        found.lease().id().text() + "/" + found.id(),
        found.client().toString(),
        () -> found.end("it was ended by " + principal.text()),
        EndSessionReply.getDefaultInstance());
  }

  private void endElsewhere(String id, Principal principal, StreamObserver<EndSessionReply> reply) {
    statuses
        .session(id)
        .filter(s -> s.getState() != SessionInfo.State.STATE_ENDING)
        .filter(s -> lookup.finder().tenantOf(s.getLeaseId()).filter(principal::mayUse).isPresent())
        .ifPresentOrElse(
            session ->
                audited.run(
                    reply,
                    "session.end",
                    session.getLeaseId() + "/" + session.getId(),
                    HolderName.of(session.getClient()).toString(),
                    () -> terminations.request(id, "it was ended by " + principal.text()),
                    EndSessionReply.getDefaultInstance()),
            () -> reply.onError(Replies.unknown("session", id, "it may have ended")));
  }
}
