// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Programs that keep one GPU busy get the parts of its time that they were granted. Times are those
 * of the GPU, so that it does not matter what else the machine does; {@code gpupool bench shares}
 * measures longer and closer.
 */
class SharesIT {
  private static final long MILLI = 1_000_000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.startAsInstalled("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pool.awaitIdle();
  }

  /** A program that has begun to keep the GPU busy. */
  private static Program busy(String load, int percent, String... options) {
    String[] share = {"-m", "64Mi", "--compute", Integer.toString(percent)};
    String[] all = new String[share.length + options.length];
    System.arraycopy(share, 0, all, 0, share.length);
    System.arraycopy(options, 0, all, share.length, options.length);
    Program program = pool.run(all, Distribution.LOAD, load).start();
    program.send("how much?");
    program.awaitLine(line -> line.startsWith("load " + load));
    return program;
  }

  private static LeaseInfo leaseOf(Program program) {
    return pool.leases().stream()
        .filter(lease -> lease.getHolder().getPid() == program.pid())
        .findFirst()
        .orElseThrow(() -> new AssertionError("no lease of\n" + program.report()));
  }

  private static GrantUse useOf(Program program) {
    return leaseOf(program).getGrants(0);
  }

  private static long usedNanos(Program program) {
    return useOf(program).getUsedGpuNanos();
  }

  private static void awaitUsed(Program program, long nanos) {
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(50))
        .until(() -> usedNanos(program) >= nanos);
  }

  @Test
  void busyPrograms_oneFloodsItsQueue_shareTheTimeAsGranted() {
    try (Program large = busy("kernels", 70);
        Program small = busy("flood", 30)) {
      long largeBefore = usedNanos(large);
      long smallBefore = usedNanos(small);
      awaitUsed(large, largeBefore + 2000 * MILLI);
      double largeUsed = usedNanos(large) - largeBefore;
      double smallUsed = usedNanos(small) - smallBefore;
      assertThat(largeUsed / (largeUsed + smallUsed)).isBetween(0.6, 0.8);
      assertThat(useOf(small).getThrottledNanos()).isPositive();
      assertThat(pool.gpupool("top", "-d").output()).contains("70%, used ");
    }
  }

  @Test
  void hardProgram_alone_getsNoMoreThanItsShare() {
    try (Program hard = busy("kernels", 30, "--hard")) {
      assertThat(useOf(hard).getGrant().getHard()).isTrue();
      long start = System.nanoTime();
      long before = usedNanos(hard);
      awaitUsed(hard, before + 600 * MILLI);
      double used = usedNanos(hard) - before;
      double passed = System.nanoTime() - start;
      // A turn that had begun before is put down at its end.
      assertThat(used / passed).isLessThan(0.35);
    }
  }

  @Test
  void worker_stoppedOrKilledInItsTurn_holdsNobodyUp() {
    try (Program victim = busy("spinning", 50);
        Program other = busy("kernels", 50)) {
      String worker = Long.toString(sessionOf(victim).getWorkerPid());
      Signals.send("STOP", worker);
      awaitUsed(other, usedNanos(other) + 500 * MILLI);
      Signals.send("CONT", worker);
      awaitUsed(victim, usedNanos(victim) + 200 * MILLI);
      Signals.send("KILL", worker);
      awaitUsed(other, usedNanos(other) + 500 * MILLI);
    }
  }

  private static SessionInfo sessionOf(Program program) {
    String lease = leaseOf(program).getId();
    return pool.sessions().stream()
        .filter(session -> session.getLeaseId().equals(lease))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no session of\n" + program.report()));
  }
}
