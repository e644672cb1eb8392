// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_BATCH;
import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.LeaseInfo;
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
      assertThat(busy.partOfBoth(large, small, 2000 * MILLI)).isBetween(0.6, 0.8);
      assertThat(busy.useOf(small).getWaitedNanos()).isPositive();
      assertThat(pool.gpupool("top", "-d").output()).contains("70%, used ");
    }
  }

  @Test
  void hardProgram_alone_getsNoMoreThanItsShare() {
    try (Program hard = busy.start("kernels", 30, "--hard")) {
      assertThat(busy.useOf(hard).getGrant().getHard()).isTrue();
      // A time slice that had begun before is put down at its end.
      assertThat(busy.partOfTime(hard, 1500 * MILLI)).isLessThan(0.35);
    }
  }

  @Test
  void latencyProgram_alwaysBusy_getsItsShareAndIsShownAsOne() {
    try (Program batch = busy.start("kernels", 70);
        Program serving = busy.start("kernels", 30, "--latency")) {
      assertThat(busy.partOfBoth(batch, serving, 2000 * MILLI)).isBetween(0.6, 0.8);
      assertThat(pool.leases())
          .extracting(LeaseInfo::getClass_)
          .contains(LEASE_CLASS_BATCH, LEASE_CLASS_LATENCY);
      assertThat(pool.gpupool("top", "-d").output()).contains("30% latency, used ");
      assertThat(pool.gpupool("lease", "list").output()).contains("CLASS", " latency ", " batch ");
    }
  }

  @Test
  void busyPrograms_leasesUpdated_shareTheTimeAsTheyAreThen() throws InterruptedException {
    try (Program one = busy.start("kernels", 50);
        Program other = busy.start("kernels", 50)) {
      busy.requireOtherSharesOnceUpdated(one, other);
      assertThat(pool.gpupool("top", "-d").output()).contains("80%, used ", "20%, used ");
    }
  }

  @Test
  void program_leaseMadeHardAndLendableAgain_getsItsShareAndThenAll() throws InterruptedException {
    try (Program program = busy.start("kernels", 30)) {
      busy.update(program, "--hard", "--class", "latency");
      Thread.sleep(500);
      assertThat(busy.partOfTime(program, 1500 * MILLI)).isLessThan(0.35);
      busy.update(program, "--lendable");
      Thread.sleep(500);
      assertThat(busy.partOfTime(program, 600 * MILLI)).isGreaterThan(0.4);
      assertThat(pool.leases().getFirst().getClass_()).isEqualTo(LEASE_CLASS_LATENCY);
    }
  }

  @Test
  void classThatThereIsNot_ofAProgramsEnvironment_isRefusedWithThoseThereAre() {
    Program.Ended ended =
        pool.run(new String[] {"-m", "64Mi"}, "true").with("GPUPOOL_CLASS", "gold").run();
    assertThat(ended.status()).isNotZero();
    assertThat(ended.errors()).contains("no class 'gold' of leases; give batch or latency");
  }

  @Test
  void worker_stoppedOrKilledInItsTurn_holdsNobodyUp() {
    try (Program victim = busy.start("spinning", 50);
        Program other = busy.start("kernels", 50)) {
      busy.awaitProgressWithout(victim, other);
    }
  }
}
