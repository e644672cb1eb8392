// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Moves of programs between two servers at random moments: {@code -Dgpupool.moves.seed} chooses
 * them, and {@code -Dgpupool.moves.all=true} has all programs moved, and more often.
 */
final class ProgramMoves {
  private static final boolean ALL = Boolean.getBoolean("gpupool.moves.all");

  /** One in so many programs is moved. */
  static final int ONE_IN = ALL ? 1 : 24;

  private static final int RUNS = ALL ? 5 : 2;
  private static final long SEED = Long.getLong("gpupool.moves.seed", 1);
  private static final long GPU_BYTES = 8L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** A program that is stopped while it moves goes on after that at the latest. */
  private static final long STOPPED_SECONDS = 2;

  private final List<Pool> servers;
  private final CudaRuns runs;
  private int moved;
  private int refused;

  /**
   * Between servers with a GPU of 8 GiB each.
   *
   * @param servers m0 and m1
   */
  ProgramMoves(List<Pool> servers, CudaRuns runs) {
    this.servers = List.copyOf(servers);
    this.runs = runs;
  }

  @Override
  public String toString() {
    return moved + " sessions were moved, " + refused + " moves were refused";
  }

  void awaitAllFree() {
    await().atMost(LIMIT).until(() -> servers.getFirst().freeBytes() == servers.size() * GPU_BYTES);
  }

  /**
   * Runs a program where it stays, and then again and again while it moves.
   *
   * @param check takes how it has ended, and what was done with it
   */
  void run(Path program, Map<String, String> environment, BiConsumer<Program.Ended, String> check)
      throws Exception {
    long begin = System.nanoTime();
    check.accept(runs.run(program, environment).get(), "unmoved");
    long longNanos = System.nanoTime() - begin;
    Random random = new Random(SEED ^ program.getFileName().hashCode());
    for (int run = 0; run < RUNS; run++) {
      awaitAllFree();
      CompletableFuture<Program.Ended> ended = runs.run(program, environment);
      String what = moveOnce(ended, random.nextLong(longNanos));
      check.accept(ended.get(), what);
    }
    awaitAllFree();
  }

  /** Moves what runs, some time after it has begun, to the other server; says what came of it. */
  private String moveOnce(CompletableFuture<Program.Ended> ended, long afterNanos)
      throws InterruptedException {
    Optional<Long> pid = awaitProgram(ended);
    TimeUnit.NANOSECONDS.sleep(afterNanos);
    Optional<LeaseInfo> lease = servers.getFirst().leases().stream().findFirst();
    if (pid.isEmpty() || lease.isEmpty() || ended.isDone()) {
      return "it had ended";
    }
    // Most programs are too short to move while they run.
    Signals.send("STOP", pid.get().toString());
    CompletableFuture<Void> going =
        CompletableFuture.runAsync(
            () -> Signals.send("CONT", pid.get().toString()),
            CompletableFuture.delayedExecutor(STOPPED_SECONDS, TimeUnit.SECONDS));
    try {
      String from = lease.get().getGrants(0).getGrant().getServer();
      MoveLeaseReply reply =
          servers
              .getFirst()
              .stub()
              .moveLease(
                  MoveLeaseRequest.newBuilder()
                      .setLeaseId(lease.get().getId())
                      .setServer(from.equals("m0") ? "m1" : "m0")
                      .build());
      moved += reply.getSessions();
      return "after " + afterNanos + " ns: " + reply;
    } catch (StatusRuntimeException e) {
      refused++;
      return "after " + afterNanos + " ns: " + e.getStatus().getDescription();
    } finally {
      going.cancel(false);
      Signals.send("CONT", pid.get().toString());
    }
  }

  /** Waits until a program has a session that is attached; empty if it has ended before. */
  private Optional<Long> awaitProgram(CompletableFuture<Program.Ended> ended)
      throws InterruptedException {
    while (!ended.isDone()) {
      Optional<SessionInfo> attached =
          servers.stream()
              .flatMap(server -> server.sessions().stream())
              .filter(session -> session.getState() == SessionInfo.State.STATE_ATTACHED)
              .findFirst();
      if (attached.isPresent()) {
        return Optional.of((long) attached.get().getClient().getPid());
      }
      TimeUnit.MILLISECONDS.sleep(5);
    }
    return Optional.empty();
  }
}
