// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AgentServices;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.PoolIdentity;
import io.gpupool.client.ResumedSession;
import io.gpupool.client.SuspendedException;
import io.gpupool.client.SuspendedWait;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Holder;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.dial.DialException;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One more call stream of a session whose former one broke, from the program's request to the end
 * of its connection to the agent. Runs on the program's event loop.
 */
final class SessionResumption {
  /** A program that is refused for now asks again, which beats a wait for a connection. */
  private static final long DIAL_SECONDS = 5;

  /** How long the pool holds its answer while the session stays suspended. */
  private static final int SUSPENDED_MILLIS = 20_000;

  private static final Logger LOG = LoggerFactory.getLogger(SessionResumption.class);

  private final EpollDomainSocketChannel program;
  private final ResumeRequest request;
  private final PoolIdentity identity;
  private final AgentServices agent;
  private final StreamGuards guards;
  private final BooleanSupplier agentEnds;
  private final StreamConnector connector;
  private final ResumeCall question;
  private @Nullable CompletableFuture<UnixChannel> dialing;
  private @Nullable StreamGuard guard;
  private @Nullable SealSecret secret;
  private boolean isLocal;
  private boolean handed;
  private boolean left;

  /** Whether the program has made a call that waits for its suspended session. */
  private boolean isWanted;

  /** The reason that the program was told last for which its session is suspended. */
  private String told = "";

  /**
   * Asks for nothing yet.
   *
   * @param agentEnds whether it is the agent that lets the program go
   */
  SessionResumption(
      EpollDomainSocketChannel program,
      ResumeRequest request,
      Holder holder,
      PoolIdentity identity,
      AgentServices agent,
      StreamGuards guards,
      BooleanSupplier agentEnds) {
    this.program = program;
    this.request = request;
    connector = new StreamConnector(agent.options(), program.eventLoop());
    question =
        new ResumeCall(
            identity,
            holder,
            agent.clients(),
            program.eventLoop(),
            connector.usable(request.abilities()));
    this.identity = identity;
    this.agent = agent;
    this.guards = guards;
    this.agentEnds = agentEnds;
  }

  private SessionId id() {
    return request.session().id();
  }

  /** Completes with a connected call stream, which the caller must hand over or close. */
  CompletableFuture<FileDescriptor> open() {
    return ask(request.suspends() ? SuspendedWait.NOT : SuspendedWait.NONE)
        .thenComposeAsync(this::connect, program.eventLoop());
  }

  /** Asks until the session is not suspended any more. */
  private CompletableFuture<ResumedSession> ask(SuspendedWait wait) {
    return question
        .ask(request.session(), request.server(), wait)
        .exceptionallyComposeAsync(this::askAgain, program.eventLoop());
  }

  private CompletableFuture<ResumedSession> askAgain(Throwable failure) {
    if (left || !(PoolRequestException.inner(failure) instanceof SuspendedException suspended)) {
      return CompletableFuture.failedFuture(failure);
    }
    String reason = String.valueOf(suspended.getMessage());
    if (!reason.equals(told)) {
      told = reason;
      LOG.info("session {}: {}", id().brief(), reason);
      TextMessage said =
          TextMessage.ofType("suspended")
              .put("reason", reason)
              .put("wakes", suspended.wakesOnCall() ? 1 : 0)
              .build();
      program.writeAndFlush(TextMessageDecoder.encode(said));
    }
    return ask(new SuspendedWait(true, isWanted, SUSPENDED_MILLIS));
  }

  /** The program has made a call that waits for its suspended session. */
  void wake() {
    if (isWanted || left) {
      return;
    }
    isWanted = true;
    // Beside the question that is under way, which is answered when the session goes on.
    question
        .ask(request.session(), request.server(), new SuspendedWait(true, true, 0))
        .whenComplete(
            (resumed, failure) -> LOG.debug("session {}: woken ({})", id().brief(), failure));
  }

  private CompletableFuture<FileDescriptor> connect(ResumedSession resumed) {
    if (left) {
      return CompletableFuture.failedFuture(unreachable("the program has left"));
    }
    CompletableFuture<UnixChannel> connecting =
        connector.dial(resumed.callStream(), resumed.localSocket(), resumed.hello());
    dialing = connecting;
    ScheduledFuture<?> limit =
        program
            .eventLoop()
            .schedule(
                () ->
                    connecting.completeExceptionally(
                        unreachable(
                            "call stream at "
                                + resumed.callStream().address()
                                + " does not answer within "
                                + DIAL_SECONDS
                                + " s")),
                DIAL_SECONDS,
                TimeUnit.SECONDS);
    return connecting
        .whenComplete((connection, failure) -> limit.cancel(false))
        .thenComposeAsync(connection -> take(connection, resumed), program.eventLoop());
  }

  private CompletableFuture<FileDescriptor> take(UnixChannel connection, ResumedSession resumed) {
    boolean encrypted = StreamConnector.isEncrypted(connection, resumed.callStream());
    boolean relay = agent.options().relay();
    // From here on it is not this class's to close.
    dialing = null;
    isLocal = StreamConnector.isLocal(connection);
    secret = isLocal ? null : resumed.secret();
    try {
      guard(new GuardedStream(connection, resumed.callStream().address(), true));
    } catch (IOException e) {
      connection.close();
      return CompletableFuture.failedFuture(e);
    }
    LOG.info(
        "session {}: call stream to {} resumed, {}{}",
        id().brief(),
        resumed.callStream().address(),
        StreamConnector.manner(connection, resumed.callStream(), secret != null),
        encrypted || relay ? "relayed" : "handed over");
    return HandOver.of(connection, id().brief(), encrypted, relay);
  }

  /** Guards the stream as the former one was; the connection that goes on guards its own. */
  private void guard(GuardedStream stream) {
    if (!request.holds()) {
      guards.of(id()).ifPresentOrElse(found -> found.add(id(), stream), stream::close);
      return;
    }
    StreamGuard own = new StreamGuard(program, true, guards);
    own.add(id(), stream);
    guard = own;
    AttachRequest.LeaseHandle lease = identity.ticket();
    if (lease != null) {
      agent.programs().add(lease, program, own::end);
    }
  }

  /** Answers the program, and gives it its call stream. */
  void hand(FileDescriptor stream) {
    handed = true;
    TextMessage answer =
        TextMessage.ofType("resumed")
            .put("protocol", Versions.LOCAL_PROTOCOL)
            .putIfPresent("secret", secret == null ? null : secret.hex())
            .putIfPresent("local", isLocal ? "1" : null)
            .build();
    program.pipeline().remove(TextMessageDecoder.class);
    program.write(TextMessageDecoder.encode(answer));
    program
        .writeAndFlush(stream)
        .addListener(sent -> {
          Detaching.closeQuietly(stream);
          if (!request.holds()) {
            program.close();
          }
        });
  }

  /** The refusal that tells the program of a failure: whether it may ask again. */
  PoolRequestException refusal(Throwable failure) {
    PoolRequestException refusal = PoolRequestException.of(failure, identity.pool());
    // The pool alone says whether a session is gone; a connection may fail for other reasons, such
    // as a resume key that another has replaced.
    boolean passing =
        refusal.why() == PoolRequestException.Cause.INTERNAL
            || (PoolRequestException.inner(failure) instanceof DialException dial
                && dial.why() == DialException.Why.REFUSED);
    return passing ? unreachable(refusal.getMessage()) : refusal;
  }

  /** Ends the session if this connection was the sign that its program lives. */
  void giveBack() {
    left = true;
    question.leave();
    if (dialing != null) {
      dialing.cancel(false);
      dialing.thenAccept(UnixChannel::close);
    }
    // A program that left before it had its stream may ask again by another connection.
    boolean ends = request.holds() && handed && !agentEnds.getAsBoolean();
    if (guard != null) {
      guard.close();
    }
    CompletableFuture<Void> ended =
        ends
            ? SessionEnd.of(
                question.pool(),
                request.session(),
                request.resumeWindow(),
                program.eventLoop(),
                agentEnds)
            : CompletableFuture.completedFuture(null);
    ended.thenRunAsync(question::forget, program.eventLoop());
  }

  private static PoolRequestException unreachable(String message) {
    return new PoolRequestException(PoolRequestException.Cause.UNREACHABLE, message);
  }
}
