// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
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
  private static final Path MODEL = Distribution.HOME.resolve("lib/model/libcuda.so.1");

  private static Pool pool;
  private static BusyPrograms busy;

  @BeforeAll
  static void startPool() {
    Map<String, String> model = Map.of("GPUPOOL_MODEL", "mem=4Gi,context=16Mi,queue=1024");
    pool = Pool.startIn(model, "all", "--libcuda", MODEL.toString());
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
  void busyPrograms_ofShortAndLongKernels_shareTheTimeAsGranted() {
    try (Program large = busy.start("eager 20000000", 70);
        Program small = busy.start("eager 200000", 30)) {
      assertThat(busy.partOfBoth(large, small, 3000 * MILLI)).isBetween(0.6, 0.8);
      assertThat(busy.useOf(small).getThrottledNanos()).isPositive();
    }
  }

  @Test
  void hardProgram_alone_getsNoMoreThanItsShare() {
    try (Program hard = busy.start("eager 200000", 30, "--hard")) {
      // A turn that had begun before is put down at its end.
      assertThat(busy.partOfTime(hard, 600 * MILLI)).isLessThan(0.35);
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
