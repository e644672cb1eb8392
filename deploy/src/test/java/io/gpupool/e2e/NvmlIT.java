// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A tool that looks at its GPUs through NVML sees what its lease has, and what the pool says. */
class NvmlIT {
  private static final long POOL_BYTES = 2L << 30;
  private static final long BLOCK_BYTES = 32L << 20;
  private static final Duration SOON = Duration.ofSeconds(10);

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:2,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void run_toolOnALease_showsWhatThePoolSaysOfIt() {
    String[] share = {"-n", "2", "-p", "0.25"};
    try (Program tool = pool.run(share, tool(), Distribution.KERNELS).start()) {
      assertThat(ask(tool, "init")).matches("init 0 580\\.00 13000 2");
      LeaseInfo lease = pool.leases().getFirst();
      for (int i = 0; i < 2; i++) {
        Grant grant = lease.getGrants(i).getGrant();
        String[] gpu = ask(tool, "gpu " + i).split(" ", 8);
        assertThat(gpu)
            .startsWith("gpu", "0", grant.getGpuUuid())
            .endsWith("0", "0", grant.getGpuName());
        assertThat(gpu[4]).isEqualTo(Long.toString(grant.getMemoryBytes()));
      }
      assertThat(pool.sessions()).as("sessions of a tool that only looks").isEmpty();
      assertThat(ask(tool, "fabric 0")).isEqualTo("fabric 0 0 25");
      String[] walked = ask(tool, "walk").split(" ");
      assertThat(Integer.parseInt(walked[1])).isGreaterThan(800);
      assertThat(Integer.parseInt(walked[2])).isGreaterThan(40);

      assertThat(ask(tool, "cuda " + BLOCK_BYTES)).isEqualTo("cuda 0");
      awaitOwnBytes(tool, BLOCK_BYTES);
      assertThat(pool.sessionOf(pid(tool)).getUsedMemoryBytes(0)).isEqualTo(BLOCK_BYTES);
      assertThat(ask(tool, "own 1")).isEqualTo("own 0 0");
      assertThat(ask(tool, "gpu 0").split(" ")[5]).isEqualTo(Long.toString(BLOCK_BYTES));
      assertThat(ask(tool, "child")).isEqualTo("child 0 " + (POOL_BYTES / 2 / 4));

      assertThat(ask(tool, "spin 200000000")).isEqualTo("spin 0");
      await().atMost(SOON).untilAsserted(() -> assertUtilization(tool));
      tool.endInput();
      assertThat(tool.awaitEnd().errors()).isEmpty();
    }
    pool.awaitFreeBytes(POOL_BYTES);
  }

  /** The GPU's time of late, of the quarter that the lease has. */
  private static void assertUtilization(Program tool) {
    long shown = Long.parseLong(ask(tool, "gpu 0").split(" ")[6]);
    GrantUse use = pool.leases().getFirst().getGrants(0);
    long ofShare = Math.round(Math.min(100, 4 * use.getUsedComputePercent()));
    assertThat(shown).isBetween(Math.max(1, ofShare - 20), ofShare + 20);
  }

  @Test
  void agent_toolWithoutALease_hasOneForNvmlAndItsCalls(@TempDir Path folder) {
    try (Agent agent = Agent.start(pool, folder);
        Program tool = agent.program(tool(), Distribution.KERNELS).start()) {
      assertThat(ask(tool, "init")).startsWith("init 0 ");
      List<LeaseInfo> leases = pool.leases();
      assertThat(leases).hasSize(1);
      assertThat(leases.getFirst().getHolder().getPid()).isEqualTo((int) pid(tool));
      assertThat(ask(tool, "cuda " + BLOCK_BYTES)).isEqualTo("cuda 0");
      awaitOwnBytes(tool, BLOCK_BYTES);
      assertThat(ask(tool, "child")).isEqualTo("child 0 " + (POOL_BYTES / 4));
      assertThat(pool.leases())
          .extracting(LeaseInfo::getId)
          .containsOnly(leases.getFirst().getId());
      tool.kill();
      pool.awaitFreeBytes(POOL_BYTES);
    }
  }

  private static Path tool() {
    return CPrograms.fixture("nvml");
  }

  private static void awaitOwnBytes(Program tool, long bytes) {
    await()
        .atMost(SOON)
        .pollInSameThread()
        .untilAsserted(() -> assertThat(ask(tool, "own 0")).isEqualTo("own 0 " + bytes));
  }

  private static long pid(Program tool) {
    return Long.parseLong(ask(tool, "pid").split(" ")[1]);
  }

  /** Sends a command and waits for its answer. */
  private static String ask(Program tool, String command) {
    tool.send(command);
    String word = command.split(" ")[0];
    return tool.awaitLine(line -> line.startsWith(word + " ") || line.startsWith("FAILED"));
  }
}
