// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Moves of programs between two servers at random moments: {@code -Dgpupool.moves.seed} chooses
 * them, {@code -Dgpupool.moves.all=true} has all programs moved, and more often, and {@code
 * -Dgpupool.moves.runs} says how often.
 */
final class ProgramMoves {
  private static final boolean ALL = Boolean.getBoolean("gpupool.moves.all");

  /** One in so many programs is moved. */
  private static final int ONE_IN = ALL ? 1 : 44;

  /** As many turns as the programs have that a build compiles, which the moved ones are among. */
  private static final int TURNS = 2;

  private static final int RUNS = Integer.getInteger("gpupool.moves.runs", ALL ? 5 : 2);

  /** A program that has ended before is moved after so small a part of that time. */
  private static final int SOONER = 32;

  private static final long SEED = Long.getLong("gpupool.moves.seed", 1);
  private static final long GPU_BYTES = 8L << 30;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** The reasons for which a lease does not move because its program has ended. */
  private static final Pattern ENDED =
      Pattern.compile(
          "the lease has ended$|is ending; ask for|^there is no lease .* it may have ended$");

  /**
   * The reasons for which a session may stay. A stream or a host function may wait for a call that
   * the stopped program is still to make.
   */
  private static final String STAYS =
      "it has .*, which cannot move|a context has failed|a stream waits for something"
          + "|a host function of the program takes too long";

  /** A program that is stopped while it moves goes on after that at the latest. */
  private static final long STOPPED_SECONDS = 2;

  private final List<Pool> servers;
  private final CudaRuns runs;
  private final Pattern stays;
  private int moved;

  /** The programs whose moves were refused, by the reason. */
  private final Map<String, Set<String>> refused = new TreeMap<>();

  /**
   * Between servers with a GPU of 8 GiB each.
   *
   * @param servers m0 and m1
   * @param more regular expressions of further reasons for which a session may stay
   */
  ProgramMoves(List<Pool> servers, CudaRuns runs, String... more) {
    this.servers = List.copyOf(servers);
    this.runs = runs;
    stays = Pattern.compile(Stream.concat(Stream.of(STAYS), Stream.of(more)).collect(joining("|")));
  }

  @Override
  public String toString() {
    return moved + " sessions were moved; refused: " + refused;
  }

  /** The programs that are moved, compiled. */
  static List<Path> programs() throws IOException {
    return CudaRuns.programs("O3", "static", ONE_IN, CudaRuns.turnOfToday() % TURNS).stream()
        .filter(program -> !CudaRuns.wantsTwoGpus(program))
        .toList();
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
    CompletableFuture<Program.Ended> first = runs.run(program, environment);
    Optional<Long> ignored = awaitProgram(first);
    long begin = System.nanoTime();
    check.accept(first.get(), "unmoved");
    long lastsMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    Random random = new Random(SEED ^ program.getFileName().hashCode());
    for (int run = 0; run < RUNS; run++) {
      long after = random.nextLong(lastsMillis + 1);
      while (!runAndMove(program, environment, after, check) && after > 0) {
        after /= SOONER;
      }
    }
    awaitAllFree();
  }

  /** Returns whether it was moved, or that was refused; not so if it had ended before. */
  private boolean runAndMove(
      Path program,
      Map<String, String> environment,
      long afterMillis,
      BiConsumer<Program.Ended, String> check)
      throws Exception {
    awaitAllFree();
    CompletableFuture<Program.Ended> ended = runs.run(program, environment);
    Optional<String> what = move(program.getFileName().toString(), ended, afterMillis);
    check.accept(ended.get(), what.orElse("it had ended"));
    return what.isPresent();
  }

  /** Moves what runs to the other server, some time after it has begun; empty if it has ended. */
  private Optional<String> move(
      String program, CompletableFuture<Program.Ended> ended, long afterMillis)
      throws InterruptedException {
    Optional<Long> pid = awaitProgram(ended);
    TimeUnit.MILLISECONDS.sleep(afterMillis);
    Optional<LeaseInfo> lease = servers.getFirst().leases().stream().findFirst();
    if (pid.isEmpty() || lease.isEmpty() || ended.isDone()) {
      return Optional.empty();
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
      return reply.getSessions() == 0
          ? Optional.empty()
          : Optional.of("after " + afterMillis + " ms: " + reply);
    } catch (StatusRuntimeException e) {
      String reason = e.getStatus().getDescription();
      if (ENDED.matcher(reason).find()) {
        return Optional.empty();
      }
      Matcher staying = stays.matcher(reason);
      assertThat(staying.find()).as(program + " after " + afterMillis + " ms: " + reason).isTrue();
      refused.computeIfAbsent(staying.group(), _ -> new TreeSet<>()).add(program);
      return Optional.of("after " + afterMillis + " ms: " + reason);
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
