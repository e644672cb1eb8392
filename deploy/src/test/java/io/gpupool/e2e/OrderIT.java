// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** One order of all threads' calls, and streams that do not hold each other up. */
class OrderIT {
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void order_tenThousandRoundsOfTwoThreads_neverReadStaleData() {
    assertOk("ordering", "10000");
  }

  @Test
  void threads_sixteenOnSixteenStreams_giveExactResults() {
    assertOk("threads", "200");
  }

  @Test
  void streams_eventsAndLongKernels_orderWhatTheyShould() {
    assertOk("streams");
  }

  private static void assertOk(String name, String... arguments) {
    Object[] command = new Object[2 + arguments.length];
    command[0] = CPrograms.example(name);
    command[1] = Distribution.KERNELS;
    System.arraycopy(arguments, 0, command, 2, arguments.length);
    Program.Ended ended = pool.run(new String[] {"-m", "256Mi"}, command).run();
    assertThat(ended.output()).as(ended.toString()).contains(name + ": OK");
    assertThat(ended.status()).isZero();
  }
}
