// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import com.google.protobuf.ByteString;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolConnection;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.runtime.NetworkNamespace;
import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.LocalSocketName;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The calls by which a pool's sessions are opened, resumed and closed. For any thread. */
final class SessionCalls {
  private static final long CALL_MILLIS = 10_000;

  /**
   * The time for an answer over the connection that is there. What broke a call stream has often
   * broken that connection, too, and gRPC alone notices after 5 to 15 s.
   */
  private static final long RESUME_MILLIS = 2000;

  /** The time for an answer over a new connection. */
  private static final long RESUME_ANEW_MILLIS = 3000;

  private final PoolAddress address;
  private final @Nullable TlsContext tls;
  private final PoolConnection connection;

  /**
   * Calls nothing yet.
   *
   * @param tls of the pool's call streams; null: they are in clear text
   */
  SessionCalls(PoolAddress address, @Nullable TlsContext tls, PoolConnection connection) {
    this.address = address;
    this.tls = tls;
    this.connection = connection;
  }

  /** An answer, and the very address that gave it: a name may have several. */
  private record Answer<A>(A reply, InetSocketAddress server) {}

  CompletableFuture<OpenedSession> open(OpenSessionRequest request) {
    connection.retryNow();
    return ask(PoolGrpc.getOpenSessionMethod(), request, CALL_MILLIS).thenCompose(this::opened);
  }

  private CompletableFuture<OpenedSession> opened(Answer<OpenSessionReply> answer) {
    OpenSessionReply reply = answer.reply();
    return target(
            answer.server(),
            reply.getElsewhere(),
            reply.getCallStreamHost(),
            reply.getCallStreamPort(),
            reply.getCallStreamClear() || !reply.getSealSecret().isEmpty())
        .thenApply(target -> session(reply, target));
  }

  /** Asks over the connection that is there, and if that seems to be dead, over a new one. */
  CompletableFuture<ResumedSession> resume(
      SessionHandle session,
      String server,
      Holder client,
      StreamAbilities abilities,
      SuspendedWait wait) {
    connection.retryNow();
    ResumeSessionRequest request =
        ResumeSessionRequest.newBuilder()
            .setSessionId(ByteString.copyFrom(session.id().bytes()))
            .setSessionKey(ByteString.copyFrom(session.key().bytes()))
            .setServer(server)
            .setClient(client)
            .setCanSeal(abilities.seals())
            .setCanShareMemory(abilities.sharesMemory())
            .setNetworkNamespace(NetworkNamespace.TEXT)
            .setCanSuspend(wait.canWait())
            .setWake(wait.wake())
            .setWaitMillis(wait.millis())
            .build();
    return ask(PoolGrpc.getResumeSessionMethod(), request, RESUME_MILLIS + wait.millis())
        .exceptionallyCompose(failure -> {
          if (!isTransport(failure)) {
            return CompletableFuture.failedFuture(failure);
          }
          connection.leaveServer();
          return ask(
              PoolGrpc.getResumeSessionMethod(), request, RESUME_ANEW_MILLIS + wait.millis());
        })
        .thenCompose(answer -> resumed(session.id(), answer));
  }

  private static boolean isTransport(Throwable failure) {
    Status.Code code = Status.fromThrowable(failure).getCode();
    return code == Status.Code.UNAVAILABLE || code == Status.Code.DEADLINE_EXCEEDED;
  }

  private CompletableFuture<ResumedSession> resumed(
      SessionId session, Answer<ResumeSessionReply> answer) {
    ResumeSessionReply reply = answer.reply();
    if (reply.hasSuspended()) {
      return CompletableFuture.failedFuture(
          new SuspendedException(
              reply.getSuspended().getReason(), reply.getSuspended().getWakesOnCall()));
    }
    return target(
            answer.server(),
            reply.getElsewhere(),
            reply.getCallStreamHost(),
            reply.getCallStreamPort(),
            reply.getCallStreamClear() || !reply.getSealSecret().isEmpty())
        .thenApply(target -> resumed(session, reply, target));
  }

  /**
   * Closes a session; completes with the pool's answer. Fails where another server is to be asked.
   */
  CompletableFuture<Void> close(SessionHandle session) {
    connection.retryNow();
    CloseSessionRequest request =
        CloseSessionRequest.newBuilder()
            .setSessionId(ByteString.copyFrom(session.id().bytes()))
            .setSessionKey(ByteString.copyFrom(session.key().bytes()))
            .build();
    return ask(PoolGrpc.getCloseSessionMethod(), request, CALL_MILLIS)
        .thenAccept(answer -> {
          if (!answer.reply().getElsewhere().isEmpty()) {
            throw new RedirectException(answer.reply().getElsewhere());
          }
        });
  }

  private <Q, A> CompletableFuture<Answer<A>> ask(
      MethodDescriptor<Q, A> method, Q request, long limitMillis) {
    ClientCall<Q, A> call =
        connection
            .channel()
            .newCall(
                method, CallOptions.DEFAULT.withDeadlineAfter(limitMillis, TimeUnit.MILLISECONDS));
    CompletableFuture<Answer<A>> answered = new CompletableFuture<>();
    call.start(
        new ClientCall.Listener<>() {
          private @Nullable A reply;

          @Override
          public void onMessage(A message) {
            reply = message;
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            if (status.isOk()) {
              answered.complete(
                  new Answer<>(
                      Objects.requireNonNull(reply, "a good status has a reply"),
                      (InetSocketAddress)
                          Objects.requireNonNull(
                              call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR))));
            } else {
              answered.completeExceptionally(status.asRuntimeException());
            }
          }
        },
        new Metadata());
    call.sendMessage(request);
    call.halfClose();
    call.request(2);
    return answered;
  }

  /** Fails where another server is to be asked. */
  private CompletableFuture<CallStreamDialer.Target> target(
      InetSocketAddress server, String elsewhere, String host, int port, boolean clear) {
    if (!elsewhere.isEmpty()) {
      return CompletableFuture.failedFuture(new RedirectException(elsewhere));
    }
    return resolve(host, server.getAddress())
        .thenApply(found ->
            new CallStreamDialer.Target(
                new InetSocketAddress(found, port),
                host.isEmpty() ? hostOf(server) : host,
                clear ? null : tls));
  }

  /** The name under which a server was reached, since that is the one in its certificate. */
  private String hostOf(InetSocketAddress peer) {
    return address.servers().stream()
        .filter(server -> server.port() == peer.getPort() && server.isAt(peer.getAddress()))
        .findFirst()
        .orElse(address)
        .host();
  }

  private static OpenedSession session(OpenSessionReply reply, CallStreamDialer.Target target) {
    try {
      return new OpenedSession(
          new SessionHandle(
              SessionId.ofBytes(reply.getSessionId().toByteArray()),
              SessionKey.ofBytes(reply.getSessionKey().toByteArray())),
          SessionKey.ofBytes(reply.getPeerKey().toByteArray()),
          target,
          seal(reply),
          LocalSocketName.of(reply.getLocalSocket()).orElse(null),
          Duration.ofMillis(reply.getResumeWindowMillis()),
          reply.getServersList(),
          Objects.checkIndex(reply.getPlace(), reply.getServersCount()));
    } catch (WireException | IllegalArgumentException | IndexOutOfBoundsException e) {
      throw wrongAnswer(e);
    }
  }

  private static @Nullable StreamSeal seal(OpenSessionReply reply) throws WireException {
    return reply.getSealSecret().isEmpty()
        ? null
        : new StreamSeal(
            SessionKey.ofBytes(reply.getConnectKey().toByteArray()),
            SealSecret.ofBytes(reply.getSealSecret().toByteArray()));
  }

  private static ResumedSession resumed(
      SessionId session, ResumeSessionReply reply, CallStreamDialer.Target target) {
    try {
      ClientHello hello =
          ClientHello.resuming(
              Versions.CALL_STREAM_MIN,
              Versions.CALL_STREAM_MAX,
              session,
              SessionKey.ofBytes(reply.getResumeKey().toByteArray()));
      return new ResumedSession(
          target,
          hello,
          reply.getSealSecret().isEmpty()
              ? null
              : SealSecret.ofBytes(reply.getSealSecret().toByteArray()),
          LocalSocketName.of(reply.getLocalSocket()).orElse(null));
    } catch (WireException e) {
      throw wrongAnswer(e);
    }
  }

  private static PoolRequestException wrongAnswer(Exception failure) {
    return new PoolRequestException(
        PoolRequestException.Cause.PROTOCOL, "the pool's answer is wrong: " + failure.getMessage());
  }

  private static CompletableFuture<InetAddress> resolve(String host, InetAddress otherwise) {
    if (host.isEmpty()) {
      return CompletableFuture.completedFuture(otherwise);
    }
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return InetAddress.getByName(host);
          } catch (UnknownHostException e) {
            throw new CompletionException(
                new PoolRequestException(
                    PoolRequestException.Cause.UNREACHABLE,
                    "the pool's call streams are at '" + host + "', which has no address here"));
          }
        },
        Thread::startVirtualThread);
  }
}
