// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

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
  private static final long MILLI = BusyPrograms.MILLI;

  private static Pool pool;
  private static BusyPrograms busy;

  @BeforeAll
  static void startPool() {
    pool = Pool.startAsInstalled("soft:1,mem=1Gi");
    busy = new BusyPrograms(pool);
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

  @Test
  void busyPrograms_oneFloodsItsQueue_shareTheTimeAsGranted() {
    try (Program large = busy.start("kernels", 70);
        Program small = busy.start("flood", 30)) {
      long largeBefore = busy.usedNanos(large);
      long smallBefore = busy.usedNanos(small);
      busy.awaitUsed(large, largeBefore + 2000 * MILLI);
      double largeUsed = busy.usedNanos(large) - largeBefore;
      double smallUsed = busy.usedNanos(small) - smallBefore;
      assertThat(largeUsed / (largeUsed + smallUsed)).isBetween(0.6, 0.8);
      assertThat(busy.useOf(small).getThrottledNanos()).isPositive();
      assertThat(pool.gpupool("top", "-d").output()).contains("70%, used ");
    }
  }

  @Test
  void hardProgram_alone_getsNoMoreThanItsShare() {
    try (Program hard = busy.start("kernels", 30, "--hard")) {
      assertThat(busy.useOf(hard).getGrant().getHard()).isTrue();
      long start = System.nanoTime();
      long before = busy.usedNanos(hard);
      busy.awaitUsed(hard, before + 600 * MILLI);
      double used = busy.usedNanos(hard) - before;
      double passed = System.nanoTime() - start;
      // A turn that had begun before is put down at its end.
      assertThat(used / passed).isLessThan(0.35);
    }
  }

  @Test
  void worker_stoppedOrKilledInItsTurn_holdsNobodyUp() {
    try (Program victim = busy.start("spinning", 50);
        Program other = busy.start("kernels", 50)) {
      String worker = Long.toString(busy.sessionOf(victim).getWorkerPid());
      Signals.send("STOP", worker);
      busy.awaitUsed(other, busy.usedNanos(other) + 500 * MILLI);
      Signals.send("CONT", worker);
      busy.awaitUsed(victim, busy.usedNanos(victim) + 200 * MILLI);
      Signals.send("KILL", worker);
      busy.awaitUsed(other, busy.usedNanos(other) + 500 * MILLI);
    }
  }
}
