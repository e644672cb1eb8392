// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Warp primitives and barriers under divergence. */
class WarpKernelsTest {
  private static int[] run(String kernel, int threads, int results, Object... inputs)
      throws Exception {
    try (TestGpu gpu = TestGpu.load("warps")) {
      Object[] arguments = new Object[inputs.length + 1];
      for (int i = 0; i < inputs.length; i++) {
        arguments[i] = gpu.ints((int[]) inputs[i]);
      }
      MemorySegment out = gpu.allocate(results * 4L);
      arguments[inputs.length] = out;
      gpu.run(kernel, TestGpu.blocks(1, threads), arguments);
      return out.toArray(ValueLayout.JAVA_INT);
    }
  }

  @Test
  void halves_divergentMasks_shuffleWithinTheirHalf() throws Exception {
    int[] out = run("halves", 64, 64);

    for (int i = 0; i < 64; i++) {
      int lane = i % 32;
      int expected = lane < 16 ? (lane ^ 5) * 3 + 8 : (lane ^ 9) * 7 + 11_000;
      assertThat(out[i]).as("thread %d", i).isEqualTo(expected);
    }
  }

  @Test
  void votes_ballotAnyAllMatch_seeTheWholeWarp() throws Exception {
    int[] in = new Random(1).ints(32, 0, 100).toArray();
    int[] out = run("votes", 32, 32 * 6, in);

    int ballot = 0;
    for (int i = 0; i < 32; i++) {
      ballot |= (in[i] & 1) << i;
    }
    for (int i = 0; i < 32; i++) {
      int matches = 0;
      for (int j = 0; j < 32; j++) {
        matches |= in[j] % 5 == in[i] % 5 ? 1 << j : 0;
      }
      int any = Arrays.stream(in).anyMatch(v -> v > 95) ? 1 : 0;
      int[] results = Arrays.copyOfRange(out, 6 * i, 6 * i + 6);
      assertThat(results).containsExactly(ballot, any, 1, matches, -1, 1);
    }
  }

  @Test
  void earlyExit_threadsThatLeft_areNotAwaited() throws Exception {
    int[] out = run("earlyExit", 100, 100);

    for (int i = 0; i < 100; i++) {
      int n = i % 5;
      assertThat(out[i]).isEqualTo(i % 3 == 1 ? 0 : n * (n - 1) / 2 + 1);
    }
  }

  @Test
  void exchange_syncwarp_ordersTheSteps() throws Exception {
    int[] out = run("exchange", 32, 32);

    for (int i = 0; i < 32; i++) {
      assertThat(out[i]).isEqualTo(i % 2 == 0 ? (i + 1) * 10 : i * 10 + 1);
    }
  }

  @Test
  void namedBarriers_producerOnlyArrives_consumerSeesItsData() throws Exception {
    int[] out = run("namedBarriers", 96, 32);

    for (int i = 0; i < 32; i++) {
      assertThat(out[i]).isEqualTo((31 - i) * (31 - i));
    }
  }

  @Test
  void leaders_activeMask_countsEveryLaneOnce() throws Exception {
    int[] keys = new Random(2).ints(128, 0, 10).toArray();
    int[] out = run("leaders", 128, 10, keys);

    int[] expected = new int[10];
    for (int key : keys) {
      expected[key]++;
    }
    assertThat(out).isEqualTo(expected);
  }

  @Test
  void shuffleModes_subWarpWidths_moveBothHalvesOfALong() throws Exception {
    int[] out = run("shuffleModes", 32, 32 * 8);

    for (int lane = 0; lane < 32; lane++) {
      int[] sources = {
        lane / 8 * 8 + lane * 5 % 8,
        lane % 16 >= 3 ? lane - 3 : lane,
        lane % 4 + 2 < 4 ? lane + 2 : lane,
        lane ^ 6
      };
      for (int i = 0; i < 4; i++) {
        assertThat(out[lane * 8 + 2 * i]).isEqualTo(sources[i]);
        assertThat(out[lane * 8 + 2 * i + 1]).isEqualTo(sources[i]);
      }
    }
  }
}
