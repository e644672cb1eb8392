// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that wait for each other by spinning, within warps, blocks and grids. */
@Timeout(60)
class LockKernelsTest {
  @Test
  void spinLock_contendedWithinAndAcrossBlocks_excludes() throws Exception {
    try (TestGpu gpu = TestGpu.load("locks")) {
      MemorySegment counter = gpu.ints(0);

      gpu.run("spinLock", TestGpu.blocks(4, 48), gpu.ints(0), counter, 3);

      assertThat(counter.get(ValueLayout.JAVA_INT, 0)).isEqualTo(4 * 48 * 3);
    }
  }

  @Test
  void backoffLock_nanosleep_letsTheHolderRun() throws Exception {
    try (TestGpu gpu = TestGpu.load("locks")) {
      MemorySegment counter = gpu.ints(0);

      gpu.run("backoffLock", TestGpu.blocks(4, 64), gpu.ints(0), counter);

      assertThat(counter.get(ValueLayout.JAVA_INT, 0)).isEqualTo(2 * 4 * 64);
    }
  }

  @Test
  void relay_tokenPassedFromLastToFirstThread_visitsAll() throws Exception {
    try (TestGpu gpu = TestGpu.load("locks")) {
      int n = 96;
      MemorySegment order = gpu.allocate(n * 4);

      gpu.run("relay", TestGpu.blocks(1, n), gpu.ints(n - 1), order);

      for (int i = 0; i < n; i++) {
        assertThat(order.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(n - 1 - i);
      }
    }
  }

  @Test
  void gridBarrier_moreBlocksThanCores_allGetThere() throws Exception {
    try (TestGpu gpu = TestGpu.load("locks")) {
      int blocks = 24;
      int n = blocks * 32;
      MemorySegment data = gpu.allocate(n * 4);
      MemorySegment out = gpu.allocate(n * 4);

      gpu.run("gridBarrier", TestGpu.blocks(blocks, 32), gpu.ints(0), data, out);

      for (int i = 0; i < n; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo((i + 32) % n * 3);
      }
    }
  }
}
