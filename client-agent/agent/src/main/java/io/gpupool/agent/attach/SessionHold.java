// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AgentServices;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.PoolIdentity;
import io.gpupool.agent.lease.ProgramLease;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.SuspendedException;
import io.gpupool.client.SuspendedWait;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.PeerCredentials;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The hold of this agent on the sessions of a program whose former agent is gone, and on its lease
 * where that agent held it; from the program's request to its end. The program keeps its call
 * streams. Runs on the program's event loop.
 */
final class SessionHold {
  private static final Logger LOG = LoggerFactory.getLogger(SessionHold.class);

  private final EpollDomainSocketChannel program;
  private final HeldSessions held;
  private final PoolIdentity identity;
  private final AgentServices agent;
  private final StreamGuards guards;
  private final BooleanSupplier agentEnds;
  private final ProgramLease lease;
  private final List<ResumeCall> questions = new ArrayList<>();
  private @Nullable StreamGuard guard;
  private boolean confirmed;

  /**
   * Asks for the lease, if the former agent held it.
   *
   * @param agentEnds whether it is the agent that lets the program go
   * @throws PoolRequestException if the program names no lease
   */
  SessionHold(
      EpollDomainSocketChannel program,
      AttachRequest request,
      HeldSessions held,
      PoolIdentity identity,
      PeerCredentials peer,
      AgentServices agent,
      StreamGuards guards,
      BooleanSupplier agentEnds) {
    this.program = program;
    this.held = held;
    this.identity = identity;
    this.agent = agent;
    this.guards = guards;
    this.agentEnds = agentEnds;
    if (identity.ticket() == null && request.ownLease() == null) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's request names no lease");
    }
    lease = new ProgramLease(request, identity, peer, agent);
  }

  /** Completes when the pool has confirmed that lease and sessions are the program's. */
  CompletableFuture<Void> open() {
    CompletableFuture<Void> opened = new CompletableFuture<>();
    CompletableFuture<?>[] answers =
        Stream.concat(Stream.of(lease.handle()), held.links().stream().map(this::ask))
            .toArray(CompletableFuture<?>[]::new);
    for (CompletableFuture<?> answer : answers) {
      // The first failure tells: the lease's answer may take as long as the window.
      answer.whenComplete((done, failure) -> {
        if (failure != null) {
          opened.completeExceptionally(failure);
        }
      });
    }
    CompletableFuture.allOf(answers).thenRun(() -> opened.complete(null));
    return opened;
  }

  private CompletableFuture<?> ask(HeldSessions.Link link) {
    ResumeCall question =
        new ResumeCall(
            identity, lease.holder(), agent.clients(), program.eventLoop(), StreamAbilities.NONE);
    questions.add(question);
    // The key that it gives is not used: the program has its call stream, or waits for one.
    return question
        .ask(link.session(), link.server(), SuspendedWait.NOT)
        .exceptionallyCompose(failure ->
            PoolRequestException.inner(failure) instanceof SuspendedException
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.failedFuture(failure));
  }

  /** Answers the program, whose connection is from now on the sign that it lives. */
  void hold() {
    StreamGuard own = new StreamGuard(program, true, guards);
    held.links().forEach(link -> own.expect(link.session().id()));
    guard = own;
    AttachRequest.LeaseHandle handle = lease.handle().join();
    agent.programs().add(handle, program, own::end);
    LOG.info(
        "lease {} sessions {}: held for {}, whose agent is gone",
        handle.leaseId(),
        held.links().stream().map(link -> link.session().id().brief()).toList(),
        lease.holder().getProgram());
    TextMessage answer =
        TextMessage.ofType("holding").put("protocol", Versions.LOCAL_PROTOCOL).build();
    program.writeAndFlush(TextMessageDecoder.encode(answer));
  }

  /** The refusal that tells the program of a failure. */
  PoolRequestException refusal(Throwable failure) {
    return PoolRequestException.of(failure, lease.address());
  }

  /**
   * The program has heard that its sessions are held. One that gave the answer up before closes its
   * connection, too, and asks again by another.
   */
  void confirm() {
    confirmed = true;
  }

  /**
   * Ends lease and sessions, if it was the program that ended, and had heard that they are held.
   */
  void giveBack() {
    questions.forEach(ResumeCall::leave);
    StreamGuard own = guard;
    if (own != null) {
      own.close();
    }
    ended(confirmed && !agentEnds.getAsBoolean())
        .whenCompleteAsync(
            (done, failure) -> {
              lease.forget();
              questions.forEach(ResumeCall::forget);
            },
            program.eventLoop());
  }

  private CompletableFuture<Void> ended(boolean byProgram) {
    if (!byProgram) {
      lease.releaseHold();
      return CompletableFuture.completedFuture(null);
    }
    return lease.end(this::closeSessions);
  }

  private CompletableFuture<Void> closeSessions() {
    List<CompletableFuture<Void>> closing = new ArrayList<>();
    for (int link = 0; link < questions.size(); link++) {
      closing.add(
          SessionEnd.of(
              questions.get(link).pool(),
              held.links().get(link).session(),
              held.resumeWindow(),
              program.eventLoop(),
              agentEnds));
    }
    return CompletableFuture.allOf(closing.toArray(CompletableFuture[]::new));
  }
}
