// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AgentServices;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.PoolCredentials;
import io.gpupool.agent.lease.PoolIdentity;
import io.gpupool.agent.lease.ProgramLease;
import io.gpupool.client.OpenedSession;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.transport.dial.DialException;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of one program and their call streams, from its attach message to its end. Runs on
 * the program's event loop.
 */
final class SessionOpening {
  /** The pause between attempts. */
  private static final long LOOK_AGAIN_MILLIS = 1000;

  /** How often a network may break call streams before the program has them. */
  private static final int MOST_BROKEN = 5;

  private final EpollDomainSocketChannel program;
  private final AgentServices agent;
  private final PoolCredentials credentials;
  private final boolean inPod;
  private final Map<String, String> driverEnvironment;
  private final StreamAbilities abilities;
  private final StreamConnector connector;
  private final ProgramLease lease;
  private final LeaseWait wait;
  private final StreamGuards guards;
  private final BooleanSupplier agentEnds;
  private @Nullable LeaseSessions sessions;
  private List<CompletableFuture<UnixChannel>> dialing = List.of();
  private @Nullable ProgramStreams streams;
  private int broken;
  private boolean outlivesServer;
  private boolean left;

  /**
   * Asks for a lease, unless the program has one; opens nothing yet.
   *
   * @param agentEnds whether it is the agent that lets the program go
   * @throws IllegalArgumentException if a value has the wrong form
   */
  SessionOpening(
      EpollDomainSocketChannel program,
      AttachRequest request,
      PoolIdentity identity,
      PeerCredentials peer,
      AgentServices agent,
      StreamGuards guards,
      BooleanSupplier agentEnds) {
    this.program = program;
    this.agent = agent;
    this.guards = guards;
    this.agentEnds = agentEnds;
    credentials = identity.credentials();
    inPod = identity.inPod();
    driverEnvironment = request.driverEnvironment();
    connector = new StreamConnector(agent.options(), program.eventLoop());
    abilities = connector.usable(request.shim().abilities());
    wait = new LeaseWait(program);
    lease = new ProgramLease(request, identity, peer, agent);
  }

  /** Completes with connected call streams; fails with the reason why there are none. */
  CompletableFuture<ProgramStreams> open() {
    return lease.handle().thenCompose(this::openPatiently);
  }

  /** The refusal that tells the program of a failure. */
  PoolRequestException refusal(Throwable failure) {
    return PoolRequestException.of(failure, lease.address());
  }

  /**
   * A pod's lease is the affair of the cluster's controller: where it does not keep pods from
   * starting before they have theirs, programs wait here. They wait a little for servers, too,
   * which start anew by themselves and whose names the cluster then has to learn. Other programs
   * get an answer at once, unless it is a connection that broke, or a server that is away although
   * their sessions would have outlived its restart.
   */
  private CompletableFuture<ProgramStreams> openPatiently(AttachRequest.LeaseHandle handle) {
    CompletableFuture<ProgramStreams> opened = new CompletableFuture<>();
    openPatiently(handle, opened);
    return opened;
  }

  /** Each time anew: futures that wait for the next time's would become more with each. */
  private void openPatiently(
      AttachRequest.LeaseHandle handle, CompletableFuture<ProgramStreams> opened) {
    openNow(handle)
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure == null) {
                opened.complete(done);
                return;
              }
              if (!left && isWorthAnotherAttempt(failure, handle)) {
                closeAndOpenAgain(handle, opened);
              } else {
                opened.completeExceptionally(failure);
              }
            },
            program.eventLoop());
  }

  private boolean isWorthAnotherAttempt(Throwable failure, AttachRequest.LeaseHandle handle) {
    if (!inPod
        && PoolRequestException.inner(failure) instanceof DialException dial
        && dial.why() == DialException.Why.BROKEN) {
      return ++broken <= MOST_BROKEN;
    }
    boolean isAway = refusal(failure).why() == PoolRequestException.Cause.UNREACHABLE;
    if (!inPod && !(isAway && outlivesServer)) {
      return false;
    }
    Optional<String> why = wait.reason(failure, lease.pool().address());
    why.ifPresent(reason -> wait.tell(reason, handle, lease.holder()));
    return why.isPresent();
  }

  /** Closes the opened sessions: of several servers, one may have opened its session already. */
  private void closeAndOpenAgain(
      AttachRequest.LeaseHandle handle, CompletableFuture<ProgramStreams> opened) {
    LeaseSessions before = Objects.requireNonNull(sessions);
    before
        .end()
        .whenCompleteAsync(
            (ended, nothing) -> {
              before.forget();
              program
                  .eventLoop()
                  .schedule(
                      () -> {
                        if (!left) {
                          openPatiently(handle, opened);
                        }
                      },
                      LOOK_AGAIN_MILLIS,
                      TimeUnit.MILLISECONDS);
            },
            program.eventLoop());
  }

  private CompletableFuture<ProgramStreams> openNow(AttachRequest.LeaseHandle handle) {
    if (left) {
      return CompletableFuture.failedFuture(programHasLeft());
    }
    LeaseSessions opening =
        new LeaseSessions(
            handle,
            lease.holder(),
            driverEnvironment,
            credentials,
            lease.pool(),
            agent.clients(),
            program.eventLoop(),
            abilities);
    sessions = opening;
    return opening.open().thenComposeAsync(open -> dial(open, handle), program.eventLoop());
  }

  private CompletableFuture<ProgramStreams> dial(
      List<OpenedSession> opened, AttachRequest.LeaseHandle handle) {
    if (left) {
      return CompletableFuture.failedFuture(programHasLeft());
    }
    outlivesServer = opened.stream().allMatch(OpenedSession::isResumable);
    dialing =
        opened.stream()
            .map(session ->
                connector.dial(session.callStream(), session.localSocket(), session.hello()))
            .toList();
    return CompletableFuture.allOf(dialing.toArray(CompletableFuture[]::new))
        .thenCompose(done -> connected(opened, handle));
  }

  private CompletableFuture<ProgramStreams> connected(
      List<OpenedSession> opened, AttachRequest.LeaseHandle handle) {
    List<UnixChannel> connections = dialing.stream().map(CompletableFuture::join).toList();
    // They are the streams' to close from here on.
    dialing = List.of();
    if (!connections.stream().allMatch(UnixChannel::isActive)) {
      connections.forEach(UnixChannel::close);
      return CompletableFuture.failedFuture(
          new DialException(
              DialException.Why.BROKEN, "a call stream broke before the program had it"));
    }
    try {
      ProgramStreams made =
          new ProgramStreams(
              program, agent.options().relay(), handle, lease, opened, connections, guards);
      streams = made;
      agent.programs().add(handle, program, made::end);
      return CompletableFuture.completedFuture(made);
    } catch (IOException e) {
      return CompletableFuture.failedFuture(
          new PoolRequestException(
              PoolRequestException.Cause.INTERNAL,
              "the agent has no descriptors left: " + e.getMessage()));
    }
  }

  /** Ends what is open or is about to be: the program has left, or is let go. */
  void giveBack() {
    left = true;
    dialing.forEach(connecting -> connecting.cancel(false));
    dialing.forEach(connecting -> connecting.thenAccept(UnixChannel::close));
    if (streams != null) {
      streams.close();
    }
    ended()
        .whenCompleteAsync(
            (done, failure) -> {
              lease.forget();
              if (sessions != null) {
                sessions.forget();
              }
            },
            program.eventLoop());
  }

  private CompletableFuture<Void> ended() {
    if (goOnAlone()) {
      lease.releaseHold();
      return CompletableFuture.completedFuture(null);
    }
    LeaseSessions opened = sessions;
    return opened == null ? lease.release() : lease.end(() -> opened.close(agentEnds));
  }

  /** Returns whether the program is let go, and lives on with its sessions. */
  private boolean goOnAlone() {
    return agentEnds.getAsBoolean()
        && streams != null
        && (streams.areResumable() || (inPod && streams.areHandedOver()));
  }

  private static PoolRequestException programHasLeft() {
    return new PoolRequestException(PoolRequestException.Cause.INTERNAL, "the program has left");
  }
}
