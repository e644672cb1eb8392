// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Programs through the nvidia backend to modelled GPUs, whose kernels take as long as they are told
 * to: what leases get of the time of a GPU that cannot be interrupted. Times are those of the GPU,
 * so that it does not matter what else the machine does; {@code gpupool bench shares --libcuda}
 * measures longer and closer.
 */
class ModelSharesIT {
  private static final long MILLI = BusyPrograms.MILLI;

  private static ModelGpu gpu;
  private static Pool pool;
  private static BusyPrograms busy;

  @BeforeAll
  static void startPool() {
    gpu = ModelGpu.start("mem=4Gi,context=16Mi,queue=1024");
    pool = gpu.pool();
    busy = new BusyPrograms(pool);
  }

  @AfterAll
  static void stopPool() {
    if (gpu != null) {
      gpu.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pool.awaitIdle();
  }

  @Test
  void busyPrograms_ofShortAndLongKernels_shareTheTimeAsGranted() {
    try (Program large = busy.start("eager 20000000", 70);
        Program small = busy.start("eager 200000", 30)) {
      assertThat(busy.partOfBothNearest(0.7, large, small, 3000 * MILLI)).isBetween(0.6, 0.8);
      assertThat(busy.useOf(small).getWaitedNanos()).isPositive();
    }
  }

  @Test
  void hardProgram_alone_getsNoMoreThanItsShare() {
    try (Program hard = busy.start("eager 200000", 30, "--hard")) {
      // A time slice that had begun before is put down at its end.
      assertThat(busy.partOfTime(hard, 1500 * MILLI)).isLessThan(0.35);
    }
  }

  @Test
  void latencyProgram_alwaysBusy_getsItsShareAndNoMore() {
    try (Program batch = busy.start("eager 5000000", 70);
        Program serving = busy.start("eager 200000", 30, "--latency")) {
      assertThat(busy.partOfBoth(batch, serving, 3000 * MILLI)).isBetween(0.6, 0.8);
    }
  }

  @Test
  void busyPrograms_leasesUpdated_shareTheTimeAsTheyAreThen() throws InterruptedException {
    try (Program one = busy.start("eager 2000000", 50);
        Program other = busy.start("eager 2000000", 50)) {
      busy.requireOtherSharesOnceUpdated(one, other);
    }
  }

  @Test
  void worker_stoppedOrKilledInItsTurn_holdsNobodyUp() {
    try (Program victim = busy.start("eager 200000", 50);
        Program other = busy.start("eager 200000", 50)) {
      busy.awaitProgressWithout(victim, other);
    }
  }

  @Test
  void kernel_thatDoesNotEnd_holdsNobodyUp() {
    try (Program other = busy.start("eager 200000", 50);
        Program hung =
            pool.run(
                    new String[] {"-m", "64Mi", "--compute", "50"},
                    CPrograms.fixture("hung_kernel"))
                .start()) {
      hung.awaitLine(line -> line.equals("hangs"));
      busy.awaitUsed(other, busy.usedNanos(other) + 500 * MILLI);
      hung.endInput();
      assertThat(hung.awaitEnd().status()).isZero();
      busy.awaitUsed(other, busy.usedNanos(other) + 500 * MILLI);
    }
  }

  @Test
  void leaseThatServesRequests_besideLongKernels_goesFirst() {
    try (Program batch = busy.start("eager 5000000", 80);
        Program requests = busy.start("serve 1000000", 20, "--latency")) {
      // The machine may take processors away in any hundred requests, but not in all.
      double least = Double.MAX_VALUE;
      for (int window = 0; window < 3 && least >= 20 * MILLI; window++) {
        long before = busy.useOf(requests).getWaitedNanos();
        busy.awaitUsed(requests, busy.usedNanos(requests) + 100 * MILLI);
        least = Math.min(least, (busy.useOf(requests).getWaitedNanos() - before) / 100.0);
      }
      // What is under way, one kernel more, and a millisecond, on average.
      assertThat(least).isLessThan(20 * MILLI);
      assertThat(busy.usedNanos(batch)).isPositive();
    }
  }

  @Test
  void launches_behindAHostFunction_moreThanTheDriverTakes_allRun() {
    Program.Ended ended =
        pool.run(
                new String[] {"-m", "64Mi"},
                CPrograms.fixture("behind_host_function"),
                Distribution.HOME.resolve("lib/bench/load.ptx"))
            .run();
    assertThat(ended.status()).as("%s", ended).isZero();
    assertThat(ended.output()).contains("all have run");
  }
}
