// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.takeover.SessionRecords;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class SessionTest {
  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8L << 30);
  private final Ground ground = new Ground(List.of(gpu));
  private final ManualTimers timers = ground.timers;
  private final Capacity capacity = ground.capacity;
  private final LeaseService leases = ground.leases;
  private final WorkerPool workers = ServedSessions.workers(ground);
  private final WorkerStartQueue starts = new WorkerStartQueue(workers, 2);
  private final List<String> ended = new ArrayList<>();

  @Test
  void endOfLease_sessionsStillAlive_fractionIsFreeOnlyWhenTheirWorkersAreDead() {
    Lease lease = grant(0.5);
    leases.hold(lease, ended::add);
    Session first = joined(lease);
    Session second = joined(lease);
    leases.end(lease, "evicted");
    assertThat(ended).containsExactly("evicted");
    assertThat(lease.state()).isInstanceOf(LeaseState.Ending.class);
    first.workerExited(137);
    assertThat(capacity.free(gpu).computeBasisPoints()).isEqualTo(5000);
    second.workerExited(137);
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
    assertThat(leases.all()).isEmpty();
    leases.end(lease, "again");
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
  }

  @Test
  void workerExited_leaseStillHeld_leaseAndItsFractionStay() {
    Lease lease = grant(0.5);
    leases.hold(lease, ended::add);
    joined(lease).workerExited(1);
    assertThat(lease.sessions()).isEmpty();
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(capacity.free(gpu).computeBasisPoints()).isEqualTo(5000);
  }

  @Test
  void open_nobodyConnects_endsAfterAWhile() {
    Lease lease = grant(0.5);
    Session session = session(lease);
    timers.pass(SessionJoining.CONNECT_LIMIT_MILLIS);
    assertThat(session.state()).isEqualTo(Session.State.ENDING);
    assertThat(workers.started()).as("workers started").isZero();
    assertThat(lease.sessions()).isEmpty();
  }

  @Test
  void join_noWorkerCanBeStarted_endsAndSaysSo() {
    Lease lease = grant(0.5);
    joined(lease);
    joined(lease);
    Session waiting = session(lease);
    Answers answers = new Answers();
    waiting.join(answers, 1);
    assertThat(workers.started()).as("of three, two may start at a time").isEqualTo(2);
    timers.pass(120_000);
    assertThat(answers.refusals)
        .singleElement()
        .extracting(ServerHello::text)
        .asString()
        .contains("no worker could be started");
    assertThat(waiting.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void outliveServer_programStillWaitsForAWorker_isSentToTheNextProcess() {
    Lease lease = grant(0.5);
    joined(lease);
    joined(lease);
    Session waiting = session(lease);
    Answers answers = new Answers();
    waiting.join(answers, 1);
    waiting.outliveServer(() -> ended.add("left"));
    assertThat(ended).isEmpty();
    assertThat(answers.refusals).extracting(ServerHello::status).containsExactly(ServerHello.BUSY);
    assertThat(waiting.state()).isEqualTo(Session.State.ENDING);
  }

  @Test
  void hear_noCallsForAsLongAsTheLeaseMayBeIdle_leaseEndsAndSaysWhy() {
    Lease lease = grant(0.5, new LeaseLimits(8000, 0));
    leases.hold(lease, ended::add);
    Session session = joined(lease);
    timers.pass(6000);
    session.onMessage(TextMessage.ofType("stats").put("calls", 7).build());
    timers.pass(6000);
    session.onMessage(TextMessage.ofType("stats").put("calls", 7).put("waits", 1).build());
    timers.pass(12_000);
    assertThat(ended).as("its program waits for the GPU").isEmpty();
    session.onMessage(TextMessage.ofType("stats").put("calls", 7).put("waits", 0).build());
    timers.pass(10_000);
    assertThat(ended).containsExactly("it was idle for 8s");
  }

  private Lease grant(double part) {
    return grant(part, LeaseLimits.NONE);
  }

  private Lease grant(double part, LeaseLimits limits) {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of());
    Outcome.Placed placed = (Outcome.Placed) Placement.place(requirements, "", capacity.snapshot());
    try {
      return ground
          .grant(
              new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, "", limits),
              placed.parts())
          .lease();
    } catch (IOException | RefusedException e) {
      throw new AssertionError(e);
    }
  }

  private Session joined(Lease lease) {
    Session session = session(lease);
    session.join(new Answers(), 1);
    return session;
  }

  /** What a program is told when it has connected. */
  private static final class Answers implements CallStream {
    private final List<ServerHello> refusals = new ArrayList<>();

    @Override
    public void refuse(ServerHello answer) {
      refusals.add(answer);
    }

    @Override
    public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
      return new CompletableFuture<>();
    }
  }

  private Session session(Lease lease) {
    SecureRandom random = new SecureRandom();
    Session made =
        new Session(
            SessionKeys.random(random),
            lease,
            lease.freeSlot().orElseThrow(),
            new SessionProgram(Ground.HOLDER, DriverEnvironment.NONE, Principal.ANYONE),
            new SessionServices(
                starts,
                timers,
                Runnable::run,
                (asking, message) -> {},
                new SessionCache(Map.of(), Runnable::run, Runnable::run),
                leases.metrics(),
                SessionRecords.none()),
            new LeaseExports(lease, random),
            gone -> leases.sessionGone(lease, gone),
            SessionPast.none(lease, timers.nowNanos()));
    made.awaitProgram();
    lease.add(made);
    return made;
  }
}
