// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.state.v1.LeaseMoveRecord;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Moves of a lease during which one of those who take part dies, or stands still, at a random
 * moment: the program goes on with its data in exactly one place, or has ended with a reason, and
 * nothing else is left. {@code -Dgpupool.kills.faults=N} makes so many, {@code
 * -Dgpupool.kills.seed=S} others.
 */
class MoveKillsIT {
  private static final int BUILD_FAULTS = 3;
  private static final int FAULTS = Integer.getInteger("gpupool.kills.faults", BUILD_FAULTS);

  /** A build makes the same faults each time. */
  private static final long SEED =
      Long.getLong("gpupool.kills.seed", FAULTS == BUILD_FAULTS ? 77 : System.nanoTime());

  /** One program in so many rounds ends by itself. */
  private static final int END_EACH = 4;

  /** One move in so many stays within its server. */
  private static final int WITHIN_EACH = 5;

  /** After one fault in so many comes another. */
  private static final int AGAIN_EACH = 5;

  /** One server in so many that starts again is killed before it is complete. */
  private static final int KILLED_EARLY = 4;

  private static final int MAX_DELAY_MILLIS = 200;
  private static final int MAX_SHORT_DELAY_MILLIS = 20;

  /** About as many as a session of the programs sends. */
  private static final int MAX_BYTES = 56 << 20;

  private static final int MAX_STOP_MILLIS = 9000;
  private static final int MAX_EARLY_MILLIS = 2500;
  private static final long MOVE_SECONDS = 200;

  @TempDir static Path folder;

  private final Random random = new Random(SEED);
  private final Map<String, Integer> outcomes = new TreeMap<>();
  private final Map<String, Integer> phases = new TreeMap<>();
  private final List<MoveFault> deck = new ArrayList<>();

  @Test
  void moves_faultsBefallThemAtRandomMoments_programsGoOnOrEndWithAReason() throws Exception {
    System.out.println("MoveKillsIT: " + FAULTS + " faults, seed " + SEED);
    MovedProgram program = null;
    try (MoveKillSite site = new MoveKillSite(folder)) {
      try {
        int made = 0;
        while (made < FAULTS) {
          if (program == null) {
            boolean byAgent = random.nextInt(3) == 0;
            program = site.start(byAgent ? 1 : 1 + random.nextInt(2), byAgent);
          }
          MoveRound round = plan(site);
          String what = "after %d faults of seed %d: %s".formatted(made, SEED, round);
          made += round.faults().size();
          try {
            program = befall(site, round, program);
          } catch (Throwable e) {
            throw new AssertionError(what + "\n" + program.program().report() + site.logs(), e);
          }
        }
        if (program != null) {
          assertThat(program.awaitResults()).as(program.program().report()).isTrue();
          site.awaitNothingLeft(false);
        }
      } finally {
        if (program != null) {
          program.close();
        }
      }
    }
    outcomes.forEach((what, count) -> System.out.printf("%-60s %5d%n", what, count));
    phases.forEach((what, count) -> System.out.printf("at %-57s %5d%n", what, count));
  }

  private MoveRound plan(MoveKillSite site) {
    List<MoveFault> faults = new ArrayList<>(List.of(nextFault()));
    if (random.nextInt(AGAIN_EACH) == 0) {
      faults.add(nextFault());
    }
    LeaseInfo lease = site.leases().getFirst();
    String source = lease.getGrants(0).getGrant().getServer();
    int gpu = lease.getGrants(0).getGrant().getGpu();
    boolean within = random.nextInt(WITHIN_EACH) == 0;
    String target = within ? source : other(source);
    return new MoveRound(
        faults,
        lease,
        source,
        target,
        within ? 1 - gpu : random.nextInt(2),
        MoveKillSite.NAMES.get(random.nextInt(2)),
        site.workers(),
        site.books().move(lease.getId()).map(LeaseMoveRecord::getId).orElse(""),
        Set.copyOf(site.sessionRecords(target)),
        site.bytesTo(target),
        random.nextInt(MAX_BYTES));
  }

  /** Returns each kind of fault as often as any other. */
  private MoveFault nextFault() {
    if (deck.isEmpty()) {
      deck.addAll(List.of(MoveFault.values()));
      Collections.shuffle(deck, random);
    }
    return deck.removeLast();
  }

  private static String other(String server) {
    return MoveKillSite.NAMES.stream()
        .filter(name -> !name.equals(server))
        .findFirst()
        .orElseThrow();
  }

  /** Moves the lease, makes the fault, and checks; returns the program if it goes on. */
  private @Nullable MovedProgram befall(MoveKillSite site, MoveRound round, MovedProgram program)
      throws Exception {
    MoveRound.Phase phase =
        MoveRound.Phase.values()[random.nextInt(MoveRound.Phase.values().length)];
    int delayMillis =
        random.nextInt(random.nextBoolean() ? MAX_DELAY_MILLIS : MAX_SHORT_DELAY_MILLIS);
    CompletableFuture<Optional<Status>> moved = round.move(site);
    round.await(site, phase, moved);
    Thread.sleep(delayMillis);
    if (round.faults().getFirst() == MoveFault.TARGET_WORKER_KILLED) {
      round.await(site, MoveRound.Phase.TARGET_WORKER_THERE, moved);
    }
    String reached = round.reached(site, moved);
    phases.merge(reached, 1, Integer::sum);
    for (MoveFault fault : round.faults()) {
      make(site, round, fault);
    }
    Optional<Status> refusal = moved.get(MOVE_SECONDS, TimeUnit.SECONDS);
    site.awaitSettled();
    boolean hasMoved =
        refusal.isEmpty()
            || site.leases().stream()
                .anyMatch(lease -> MovedProgram.isAt(lease, round.target(), round.targetGpu()));
    boolean goesOn = site.awaitGoesOn(program);
    if (goesOn && random.nextInt(END_EACH) != 0) {
      note(round, reached, hasMoved ? "moved, goes on" : "not moved, goes on");
      return program;
    }
    boolean right = program.awaitResults();
    note(
        round,
        reached,
        !right ? "ended" : hasMoved ? "moved, results right" : "not moved, results right");
    if (!right) {
      assertThat(round.faults())
          .as(() -> refusal + "\n" + program.program().report())
          .anyMatch(fault -> fault.mayEndProgram(hasMoved));
      if (!round.faults().contains(MoveFault.PROGRAM_KILLED)) {
        program.requireReason();
      }
    }
    program.close();
    site.awaitNothingLeft(!right && round.faults().contains(MoveFault.AGENT_KILLED));
    return null;
  }

  private void note(MoveRound round, String reached, String outcome) {
    System.out.println("MoveKillsIT: " + round + ", at " + reached + ": " + outcome);
    round.faults().forEach(fault -> outcomes.merge(fault + " " + outcome, 1, Integer::sum));
  }

  private void make(MoveKillSite site, MoveRound round, MoveFault fault) throws Exception {
    switch (fault) {
      case SOURCE_WORKER_KILLED -> killOne(round.workers());
      case TARGET_WORKER_KILLED -> killOne(round.newWorkers(site));
      case SOURCE_SERVER_KILLED -> restart(site, round.source());
      case SOURCE_SERVER_GONE -> site.restartLater(round.source());
      case TARGET_SERVER_KILLED -> restart(site, round.target());
      case TARGET_SERVER_GONE -> site.restartLater(round.target());
      case SOURCE_SERVER_STOPPED -> site.stop(round.source(), random.nextInt(MAX_STOP_MILLIS));
      case TARGET_SERVER_STOPPED -> site.stop(round.target(), random.nextInt(MAX_STOP_MILLIS));
      case PROGRAM_RESET -> site.reset(round.source());
      case TARGET_RESET -> site.reset(round.target());
      case ETCD_LEADER_KILLED -> site.killLeader();
      case AGENT_KILLED -> site.killAgent();
      case PROGRAM_KILLED -> killProgram(site);
      case LEASE_RELEASED -> release(site, round);
    }
  }

  private void restart(MoveKillSite site, String server) throws InterruptedException {
    boolean isKilledEarly = random.nextInt(KILLED_EARLY) == 0;
    site.restart(server, isKilledEarly ? random.nextInt(MAX_EARLY_MILLIS) : 0);
  }

  private static void killOne(Set<Long> workers) {
    workers.stream().findFirst().ifPresent(pid -> Signals.send("KILL", pid.toString()));
  }

  /** Kills one process that has a session; its parent is {@code gpupool run}, or the test. */
  private static void killProgram(MoveKillSite site) {
    site.sessions().stream()
        .findFirst()
        .map(SessionInfo::getClient)
        .ifPresent(client -> Signals.send("KILL", Integer.toString(client.getPid())));
  }

  private static void release(MoveKillSite site, MoveRound round) {
    try {
      var ignored =
          site.pool(other(round.asked()))
              .stub()
              .withDeadlineAfter(MOVE_SECONDS, TimeUnit.SECONDS)
              .releaseLease(
                  ReleaseLeaseRequest.newBuilder().setLeaseId(round.lease().getId()).build());
    } catch (StatusRuntimeException e) {
      // It has ended by the fault before.
      assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND);
    }
  }
}
