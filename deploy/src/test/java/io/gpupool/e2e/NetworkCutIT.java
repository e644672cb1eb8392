// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs on one host, their pool on another, and a network between them that loses everything for
 * a while, the packet included that would have told a program that its connection is gone.
 */
class NetworkCutIT {
  /** As long as a kernel takes that a waiting program waits for: longer than any test. */
  private static final long FOR_EVER = 1L << 40;

  private static final long DEVICE_UNAVAILABLE = 46;
  private static final long GPU_BYTES = 1L << 30;

  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Duration WINDOW = Duration.ofSeconds(3);

  private static Optional<CutNetwork> made = Optional.empty();
  private static Pool pool;

  @BeforeAll
  static void makeNetwork() {
    made = CutNetwork.make();
    assumeThat(made).as("network namespaces take root, and the command ip").isPresent();
    pool = Pool.startOn(made.get().host(), "soft:1,mem=1Gi");
  }

  @AfterAll
  static void removeNetwork() {
    if (pool != null) {
      pool.close();
    }
    made.ifPresent(CutNetwork::close);
  }

  @Test
  void cut_ofFiveSeconds_isSurvived() throws Exception {
    try (Tenant busy = run("60s");
        Tenant idle = run("60s")) {
      busy.ask("steady");
      network().cut();
      Thread.sleep(Duration.ofSeconds(5));
      network().heal();
      busy.assertWorkedSteadily();
      idle.assertWorks();
      assertThat(pool.leases()).hasSize(2);
      leave(busy, idle);
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  /** Longer than both ends wait before they give the connection up. */
  @Test
  void cut_thatBothEndsNotice_isSurvived() throws Exception {
    try (Tenant busy = run("60s");
        Tenant waiting = run("60s")) {
      busy.ask("steady");
      waiting.tell("work 2000");
      network().cut();
      Thread.sleep(Duration.ofSeconds(12));
      assertThat(pool.sessions())
          .allMatch(session -> session.getState() == SessionInfo.State.STATE_DISCONNECTED);
      network().heal();
      busy.assertWorkedSteadily();
      assertThat(waiting.answer("work")).containsExactly(0L);
      assertThat(pool.leases()).hasSize(2);
      leave(busy, waiting);
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @Test
  void cut_forGood_failsProgramsThatWaitAndThatSend() {
    try (Tenant waiting = run("0");
        Tenant busy = run("0")) {
      busy.ask("steady");
      waiting.ask("spin " + FOR_EVER);
      waiting.tell("sync");
      network().cut();
      assertThat(waiting.answer("sync")).containsExactly(DEVICE_UNAVAILABLE);
      assertThat(busy.ask("stop").getFirst()).isEqualTo(DEVICE_UNAVAILABLE);
      pool.awaitIdle();
    } finally {
      network().heal();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  /** Each part counts the window from when it noticed the cut. */
  @Test
  void cut_thatOutlastsTheWindow_failsTheProgramAndFreesTheGpu() {
    try (Tenant waiting = run(WINDOW.toSeconds() + "s")) {
      waiting.ask("spin " + FOR_EVER);
      waiting.tell("sync");
      network().cut();
      CompletableFuture<Long> disconnected =
          when(() ->
              pool.sessionOf(waiting.pid()).getState() == SessionInfo.State.STATE_DISCONNECTED);
      CompletableFuture<Long> lost =
          when(() -> pool.leases().getFirst().getState() == LeaseInfo.State.STATE_GRACE);
      waiting.run().awaitErrorLine(line -> line.contains("lost the connection to"));
      long noticedNanos = System.nanoTime();
      CompletableFuture<Long> ended =
          disconnected.thenCompose(at -> when(() -> pool.sessions().isEmpty()));
      CompletableFuture<Long> freed =
          lost.thenCompose(at -> when(() -> pool.freeBytes() == GPU_BYTES));
      assertThat(waiting.answer("sync")).containsExactly(DEVICE_UNAVAILABLE);
      long failedNanos = System.nanoTime();
      requireSoonAfterWindow("the program has its error", noticedNanos, failedNanos);
      requireSoonAfterWindow("the session is gone", disconnected.join(), ended.join());
      requireSoonAfterWindow("the GPU is free", lost.join(), freed.join());
    } finally {
      network().heal();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  @Test
  void cut_inWhichAProgramEnds_leavesItsLeaseToTheWindow() {
    try (Tenant tenant = run(WINDOW.toSeconds() + "s")) {
      tenant.ask("steady");
      network().cut();
      tenant.tell("exit 0");
      assertThat(tenant.run().awaitEnd(PATIENCE).status()).isZero();
      network().heal();
      pool.awaitIdle();
    } finally {
      network().heal();
    }
    pool.awaitFreeBytes(GPU_BYTES);
  }

  /** Returns the time at which something first holds, by {@link System#nanoTime}. */
  private static CompletableFuture<Long> when(Callable<Boolean> condition) {
    return CompletableFuture.supplyAsync(
        () -> {
          await().atMost(PATIENCE).pollInterval(Duration.ofMillis(20)).until(condition);
          return System.nanoTime();
        },
        task -> new Thread(task, "when").start());
  }

  private static void requireSoonAfterWindow(String what, long sinceNanos, long nanos) {
    Duration after = Duration.ofNanos(nanos - sinceNanos).minus(WINDOW);
    System.out.printf("NetworkCutIT: %s %d ms after the window%n", what, after.toMillis());
    assertThat(after).as(what).isLessThan(Pool.CLEAN);
  }

  @Test
  void cut_inWhichLeasesEndAndResetsAreLost_isToldOnceItIsOver(@TempDir Path folder)
      throws Exception {
    Path socket = folder.resolve("agent.sock");
    try (Program agent = agent(socket);
        Program holder = holder();
        Tenant ofRun = run("0")) {
      String lease = holder.awaitLine(line -> line.startsWith("export GPUPOOL_LEASE="));
      try (Tenant ofAgent =
          Tenant.of(
              network()
                  .program(CPrograms.fixture("tenant"), Distribution.KERNELS)
                  .with("LD_LIBRARY_PATH", Distribution.SHIM)
                  .with("GPUPOOL_AGENT", socket)
                  .with("GPUPOOL_LEASE", lease.substring(lease.indexOf('=') + 1))
                  .start())) {
        for (Tenant waiting : new Tenant[] {ofRun, ofAgent}) {
          waiting.ask("spin " + FOR_EVER);
        }
        signalWorkers("STOP");
        for (Tenant waiting : new Tenant[] {ofRun, ofAgent}) {
          waiting.tell("work 20");
        }
        // What has come and was not read makes the kernel reset a dead worker's connection, once.
        Thread.sleep(Duration.ofSeconds(1));
        network().cut();
        holder.signal("TERM");
        pool.awaitIdle();
        pool.awaitFreeBytes(GPU_BYTES);
        network().heal();
        assertThat(ofAgent.answer("work")).containsExactly(DEVICE_UNAVAILABLE);
        assertThat(ofRun.answer("work")).containsExactly(DEVICE_UNAVAILABLE);
        assertThat(agent.isAlive()).isTrue();
      }
    } finally {
      network().heal();
      signalWorkers("CONT");
    }
  }

  private static void signalWorkers(String signal) {
    ProcessHandle.of(pool.server().pid())
        .orElseThrow()
        .descendants()
        .forEach(worker -> Signals.send(signal, Long.toString(worker.pid())));
  }

  private static CutNetwork network() {
    return made.orElseThrow();
  }

  /** Ends programs by themselves: a lease with a killed holder would stay for its window. */
  private static void leave(Tenant... programs) {
    for (Tenant program : programs) {
      program.tell("exit 0");
    }
    pool.awaitIdle();
  }

  private static Tenant run(String resumeWindow) {
    return Tenant.of(
        network()
            .program(
                Distribution.gpupool(),
                "run",
                "--pool",
                pool.address(),
                "-p",
                "0.25",
                "--resume-window",
                resumeWindow,
                "--",
                CPrograms.fixture("tenant"),
                Distribution.KERNELS)
            .start());
  }

  private static Program agent(Path socket) {
    Program agent =
        network()
            .program(Distribution.gpupool(), "agent", "--pool", pool.address(), "--socket", socket)
            .start();
    agent.awaitLine(line -> line.startsWith("gpupool agent ready"));
    return agent;
  }

  /** Holds a lease from this side of the network. */
  private static Program holder() {
    return Program.of(
            Distribution.gpupool(), "lease", "request", "--pool", pool.address(), "-p", "0.25")
        .start();
  }
}
