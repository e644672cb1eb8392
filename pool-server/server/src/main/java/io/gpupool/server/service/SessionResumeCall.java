// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.service.SessionCalls.CallStreams;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.SessionSuspensions.SuspendedSession;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.ServerDirectory;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.WireException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The call by which a program gets the key to one more connection. Runs on the control thread.
 *
 * @param streams the port to connect to
 */
record SessionResumeCall(
    Sessions sessions, LeaseFinder finder, ServerDirectory directory, CallStreams streams) {
  /** The longest time for which the answer for a suspended session is held. */
  private static final long MAX_WAIT_MILLIS = 60_000;

  void resume(ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply) {
    resume(request, reply, AuthInterceptor.principal());
  }

  /** The same for a caller who is known. */
  void resume(
      ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply, Principal principal) {
    try {
      Optional<SuspendedSession> suspended = suspended(request, principal);
      if (suspended.isPresent()) {
        resumeSuspended(request, reply, principal, suspended.get());
        return;
      }
      Optional<Lease> leaving = leaseThatLeaves(request);
      Optional<SuspensionRecord> saving =
          leaving
              .filter(_ -> request.getCanSuspend())
              .flatMap(lease -> sessions.suspensions().saving(lease.id()));
      if (saving.isPresent()) {
        // The program need not come back within its resume window meanwhile.
        await(
            request,
            reply,
            principal,
            leaving.get().id(),
            saving.get(),
            SuspensionRecord::isSaving);
        return;
      }
      if (leaving.isPresent()) {
        // The program need not ask again and again: it stands still until this is answered.
        sessions.whenSettled(leaving.get().id(), () -> resumeLater(request, reply, principal));
        return;
      }
      Replies.answer(reply, answer(request, principal));
    } catch (WireException e) {
      reply.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
    } catch (StatusRuntimeException e) {
      reply.onError(e);
    } catch (StateException e) {
      Replies.fail(reply, e);
    }
  }

  /** Returns the session that is suspended here and the caller's. */
  private Optional<SuspendedSession> suspended(ResumeSessionRequest request, Principal principal)
      throws WireException {
    return sessions
        .suspensions()
        .find(
            SessionId.ofBytes(request.getSessionId().toByteArray()),
            SessionKey.ofBytes(request.getSessionKey().toByteArray()))
        .filter(found ->
            finder
                .find(found.lease().text())
                .filter(lease -> principal.mayUse(lease.tenant(), lease.pod().orElse(null)))
                .isPresent());
  }

  /** Has the lease resumed if a call of the program does that, and answers when it is, or later. */
  private void resumeSuspended(
      ResumeSessionRequest request,
      StreamObserver<ResumeSessionReply> reply,
      Principal principal,
      SuspendedSession session)
      throws StateException {
    if (!request.getCanSuspend()) {
      throw Status.UNAVAILABLE
          .withDescription("the session is suspended; try again")
          .asRuntimeException();
    }
    LeaseId lease = session.lease();
    if (request.getWake() && session.suspension().wakesOnCall()) {
      sessions.suspensions().want(lease, principal);
    }
    await(request, reply, principal, lease, session.suspension(), SuspensionRecord::isSaved);
  }

  /**
   * Answers when something is not true of a suspension any more, or when the caller's wait ends.
   */
  private void await(
      ResumeSessionRequest request,
      StreamObserver<ResumeSessionReply> reply,
      Principal principal,
      LeaseId lease,
      SuspensionRecord suspension,
      Predicate<SuspensionRecord> lasts) {
    sessions
        .suspensions()
        .whenNoLonger(
            lease,
            suspension.id(),
            lasts,
            Math.clamp(Integer.toUnsignedLong(request.getWaitMillis()), 0, MAX_WAIT_MILLIS),
            record ->
                record
                    .filter(lasts)
                    .ifPresentOrElse(
                        still -> answerSuspended(reply, lease, still),
                        () -> resumeLater(request, reply, principal)));
  }

  private static void answerSuspended(
      StreamObserver<ResumeSessionReply> reply, LeaseId lease, SuspensionRecord suspension) {
    if (Replies.isCancelled(reply)) {
      return;
    }
    String reason =
        suspension.isWanted()
            ? "lease " + lease + " is about to be resumed"
            : "lease "
                + lease
                + " is suspended"
                + (suspension.wakesOnCall()
                    ? ""
                    : "; resume it with 'gpupool lease resume " + lease + "'");
    Replies.answer(
        reply,
        ResumeSessionReply.newBuilder()
            .setSuspended(
                io.gpupool.control.v1.SuspendedSession.newBuilder()
                    .setReason(
                        suspension.result().reason().isEmpty()
                            ? reason
                            : reason + ": " + suspension.result().reason())
                    .setWakesOnCall(suspension.wakesOnCall()))
            .build());
  }

  private void resumeLater(
      ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply, Principal principal) {
    if (!Replies.isCancelled(reply)) {
      resume(request, reply, principal);
    }
  }

  /** Returns the lease of a session here that is about to leave; no answer would last. */
  private Optional<Lease> leaseThatLeaves(ResumeSessionRequest request) throws WireException {
    SessionId id = SessionId.ofBytes(request.getSessionId().toByteArray());
    return sessions
        .find(id, SessionKey.ofBytes(request.getSessionKey().toByteArray()))
        .map(Session::lease)
        .filter(sessions::isLeaving);
  }

  /** Returns the answer to a caller; fails with the status to send. */
  ResumeSessionReply answer(ResumeSessionRequest request, Principal principal)
      throws WireException {
    SessionId id = SessionId.ofBytes(request.getSessionId().toByteArray());
    // A program names the server that the session had at first.
    String server = lease(id).map(moved -> moved.topology().home()).orElseGet(request::getServer);
    return server.isEmpty() || server.equals(directory.name())
        ? here(request, principal)
        : elsewhere(server);
  }

  /** Returns the lease with which a session has moved that is not here, or not any more. */
  Optional<Lease> movedWith(SessionId id) {
    return sessions.serves(id) ? Optional.empty() : lease(id);
  }

  /** Returns the lease of a session that has moved, wherever it is. */
  private Optional<Lease> lease(SessionId id) {
    return sessions.moves().leaseOf(id).flatMap(lease -> finder.find(lease.text()));
  }

  private ResumeSessionReply elsewhere(String server) {
    String address =
        directory
            .addressOf(server)
            .orElseThrow(() ->
                Status.UNAVAILABLE
                    .withDescription(
                        "server "
                            + HolderName.plain(server)
                            + ", which has the session, is not in the pool now; it may come back")
                    .asRuntimeException());
    return ResumeSessionReply.newBuilder().setElsewhere(address).build();
  }

  private ResumeSessionReply here(ResumeSessionRequest request, Principal principal)
      throws WireException {
    SessionId id = SessionId.ofBytes(request.getSessionId().toByteArray());
    Session session =
        sessions
            .find(id, SessionKey.ofBytes(request.getSessionKey().toByteArray()))
            .filter(
                found -> principal.mayUse(found.lease().tenant(), found.lease().pod().orElse(null)))
            .filter(found -> found.state() != Session.State.ENDING)
            .orElseThrow(() -> missing(id));
    if (sessions.isLeaving(session.lease())) {
      throw moving();
    }
    if (!session.canResume()) {
      throw Status.FAILED_PRECONDITION
          .withDescription("its lease has no resume window: the session ends with its connection")
          .asRuntimeException();
    }
    if (!session.isServed()) {
      throw Status.UNAVAILABLE
          .withDescription("the session's first connection is still being made; try again")
          .asRuntimeException();
    }
    Optional<SessionKey> key = sessions.resume(session, principal);
    ResumeSessionReply.Builder answer =
        ResumeSessionReply.newBuilder()
            .setResumeKey(
                ByteString.copyFrom(
                    key.orElseThrow(() -> gone("it has ended, as it was resumed too often"))
                        .bytes()))
            .setCallStreamPort(streams.port())
            .setCallStreamClear(streams.isClear())
            .setLocalSocket(
                streams.localName(request.getCanShareMemory(), request.getNetworkNamespace()));
    if (streams.seals() && request.getCanSeal()) {
      answer.setSealSecret(ByteString.copyFrom(sessions.sealNext(session).bytes()));
    }
    return answer.build();
  }

  private StatusRuntimeException missing(SessionId id) {
    return sessions.moves().isArriving(id) ? moving() : gone("it may have ended");
  }

  private static StatusRuntimeException moving() {
    return Status.UNAVAILABLE
        .withDescription("the session's lease is being moved; try again")
        .asRuntimeException();
  }

  private static StatusRuntimeException gone(String why) {
    return Status.NOT_FOUND.withDescription("no such session; " + why).asRuntimeException();
  }
}
