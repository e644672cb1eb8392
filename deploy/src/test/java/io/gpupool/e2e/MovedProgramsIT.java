// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs of examples/cuda, each moved between two servers at a random moment, again and
 * again: one in so many and twice, or all and five times with {@code -Dgpupool.moves.all=true}.
 * {@code -Dgpupool.moves.seed} chooses the moments.
 */
class MovedProgramsIT {
  private static final boolean ALL = Boolean.getBoolean("gpupool.moves.all");
  private static final int ONE_IN = ALL ? 1 : 24;
  private static final int RUNS = ALL ? 5 : 2;
  private static final long SEED = Long.getLong("gpupool.moves.seed", 1);
  private static final long GPU_BYTES = 8L << 30;

  /** A program that is stopped while it moves goes on after that at the latest. */
  private static final long STOPPED_SECONDS = 2;

  @TempDir static Path folder;
  private static TwoServers pool;
  private static CudaRuns runs;
  private static int moved;
  private static int refused;

  @BeforeAll
  static void start() throws Exception {
    CudaRuns.assumeCompiler();
    pool =
        TwoServers.start(
            folder, 2 * GPU_BYTES, options -> Pool.startAsInstalled("soft:1,mem=8Gi", options));
    runs = CudaRuns.on(pool.first(), folder);
  }

  @AfterAll
  static void stop() {
    System.out.println(moved + " sessions were moved, " + refused + " moves were refused");
    if (runs != null) {
      runs.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  @TestFactory
  Stream<DynamicTest> programs_movedAtRandomMoments_giveTheirResults() throws IOException {
    return CudaRuns.programs("O3", "static", ONE_IN).stream()
        .filter(program -> !CudaRuns.wantsTwoGpus(program))
        .map(program ->
            DynamicTest.dynamicTest(program.getFileName().toString(), () -> move(program)));
  }

  private static void move(Path program) throws Exception {
    long begin = System.nanoTime();
    requireOk(program, runs.run(program, Map.of()).get(), "unmoved");
    long longNanos = System.nanoTime() - begin;
    Random random = new Random(SEED ^ program.getFileName().hashCode());
    for (int run = 0; run < RUNS; run++) {
      pool.awaitAllFree();
      CompletableFuture<Program.Ended> ended = runs.run(program, Map.of());
      String what = moveOnce(ended, random.nextLong(longNanos));
      requireOk(program, ended.get(), what);
    }
    pool.awaitAllFree();
  }

  private static void requireOk(Path program, Program.Ended ended, String what) {
    String all = what + "\n" + ended;
    assertThat(ended.output()).as(all).contains(program.getFileName() + ": OK");
    assertThat(ended.status()).as(all).isZero();
  }

  /** Moves what runs, some time after it has begun, to the other server; says what came of it. */
  private static String moveOnce(CompletableFuture<Program.Ended> ended, long afterNanos)
      throws InterruptedException {
    Optional<Long> pid = awaitProgram(ended);
    TimeUnit.NANOSECONDS.sleep(afterNanos);
    Optional<LeaseInfo> lease = pool.first().leases().stream().findFirst();
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
          pool.first()
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
  private static Optional<Long> awaitProgram(CompletableFuture<Program.Ended> ended)
      throws InterruptedException {
    while (!ended.isDone()) {
      Optional<SessionInfo> attached =
          Stream.of(pool.first(), pool.second())
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
