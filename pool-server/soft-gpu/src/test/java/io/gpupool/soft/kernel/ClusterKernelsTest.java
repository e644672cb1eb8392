// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Blocks of a cluster: where they are, their barrier, and each other's shared memory. */
@Timeout(60)
class ClusterKernelsTest {
  private TestGpu gpu;

  @BeforeEach
  void load() throws Exception {
    gpu = TestGpu.load("clusters");
  }

  @AfterEach
  void close() {
    gpu.close();
  }

  private static Launch clusters(int grid, int block, int cluster) {
    return new Launch(
        new Dim3(grid), new Dim3(block), 0, false, new ClusterShape(cluster, 1, 1, true));
  }

  private static int[] ints(MemorySegment segment) {
    return segment.toArray(ValueLayout.JAVA_INT);
  }

  @Test
  void registers_ofEachBlock_tellItsPlace() throws KernelFaultException {
    MemorySegment out = gpu.ints(new int[10 * 6 * 4]);
    ClusterShape cluster = new ClusterShape(3, 2, 1, true);

    gpu.run("places", new Launch(new Dim3(6, 4), new Dim3(1), 0, false, cluster), out);

    int[] told = ints(out);
    for (int y = 0; y < 4; y++) {
      for (int x = 0; x < 6; x++) {
        int rank = x % 3 + 3 * (y % 2);
        int[] expected = {x / 3, y / 2, 2, 2, x % 3, y % 2, 3, rank, 6, 1};
        int at = 10 * (6 * y + x);
        assertThat(Arrays.copyOfRange(told, at, at + 10))
            .as("block %s,%s", x, y)
            .containsExactly(expected);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"8, 32, 4", "16, 64, 8", "32, 1, 16", "6, 33, 2", "4, 7, 1"})
  void numbers_handedRoundACluster_comeBack(int grid, int threads, int cluster)
      throws KernelFaultException {
    MemorySegment out = gpu.ints(new int[2 * grid * threads]);

    gpu.run("ring", clusters(grid, threads, cluster), out);

    int[] result = ints(out);
    for (int block = 0; block < grid; block++) {
      for (int thread = 0; thread < threads; thread++) {
        int at = 2 * (block * threads + thread);
        assertThat(result[at]).isEqualTo(1000 * block + thread);
        assertThat(result[at + 1]).as("counted").isEqualTo(cluster * cluster * threads);
      }
    }
  }

  @Test
  void storesAndArrivals_atAnotherBlocksBarrier_letItGoOn() throws KernelFaultException {
    MemorySegment out = gpu.ints(new int[26]);

    gpu.run("arrivals", clusters(4, 1, 4), out);

    int[] data = ints(out);
    for (int rank = 1; rank < 4; rank++) {
      assertThat(data[2 * rank]).isEqualTo(rank);
      assertThat(data[2 * rank + 1]).isEqualTo(rank + 50);
    }
    assertThat(data[25]).as("added up").isEqualTo(5 + 1 + 2 + 3);
  }

  @Test
  void copies_toSeveralBlocksAndFromOneToAnother_arrive() throws KernelFaultException {
    int[] words = new int[16];
    for (int i = 0; i < words.length; i++) {
      words[i] = 300 + i;
    }
    MemorySegment out = gpu.ints(new int[8]);

    gpu.run("multicast", clusters(4, 1, 4), gpu.ints(words), out, 0b1011);

    assertThat(ints(out)).containsExactly(315, 0, 315, 0, 0, 0, 315, 307);
  }

  @Test
  void multicast_toABlockThatIsNotThere_faults() {
    MemorySegment out = gpu.ints(new int[8]);

    assertThatThrownBy(
            () -> gpu.run("multicast", clusters(4, 1, 4), gpu.ints(new int[16]), out, 0b10011))
        .isInstanceOfSatisfying(
            KernelFaultException.class,
            fault -> assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS))
        .hasMessageContaining("block 4 of the cluster");
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, 0, has ended",
    "2, 0, 0, no such block",
    "254, 0, 0, no such block",
    "255, 0, 0, no such block",
    "256, 0, 0, no such block",
    "-1, 0, 0, no such block",
    "-1, 0, 1, no such block",
    "0, 126, 0, misaligned",
    "0, 1000, 0, beyond the end",
    "0, 16777000, 0, beyond the end",
    "1, 0, 1, not the own block"
  })
  void access_toMemoryThatIsNotThere_faults(int rank, int offset, int cta, String reason) {
    MemorySegment flag = gpu.ints(0, 0);

    assertThatThrownBy(() -> gpu.run("reach", clusters(2, 1, 2), flag, rank, offset, cta))
        .as(reason)
        .isInstanceOf(KernelFaultException.class);
    assertThat(ints(flag)[1]).isZero();
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "-1, 0", "1, 1", "256, 1"})
  void access_toAnotherRankWhereEachBlockIsACluster_faults(int rank, int cta) {
    MemorySegment flag = gpu.ints(1, 0);

    assertThatThrownBy(() -> gpu.run("reach", TestGpu.blocks(1, 1), flag, rank, 0, cta))
        .isInstanceOf(KernelFaultException.class);
    assertThat(ints(flag)[1]).isZero();
  }

  @ParameterizedTest
  @CsvSource({"0, 77", "1, 78"})
  void access_toTheOwnMemoryByItsRank_isMade(int cta, int expected) throws KernelFaultException {
    MemorySegment flag = gpu.ints(0, 0);

    gpu.run("reach", clusters(2, 1, 2), flag, 0, 124, cta);

    assertThat(ints(flag)[1]).isEqualTo(expected);
  }

  @Test
  void addresses_ofBlocks_areToldApart() throws KernelFaultException {
    MemorySegment out = gpu.ints(new int[6]);

    gpu.run("spaces", clusters(2, 1, 2), out);

    assertThat(ints(out)).containsExactly(1, 0, 1, 0, 1, 9);
  }

  @Test
  void blocks_thatWaitForEachOtherForEver_fault() {
    assertThatThrownBy(() -> gpu.run("deadlock", clusters(2, 64, 2)))
        .isInstanceOf(KernelFaultException.class)
        .hasMessageContaining("deadlock");
  }

  @ParameterizedTest
  @ValueSource(strings = {"barrier.cluster.arrive", "bar.arrive 1, 64"})
  void arrival_whereNoThreadWaits_hasNoEffect(String instruction) throws Exception {
    String kernel =
        ".version 8.0%n.target sm_90%n.address_size 64%n.visible .entry k() { %s; ret; }%n";
    try (TestGpu fresh = TestGpu.withPtx(kernel.formatted(instruction))) {
      fresh.run("k", clusters(4, 64, 2));
    }
  }

  @Test
  void grid_thatIsNoMultipleOfItsClusters_isNoLaunch() {
    assertThatThrownBy(() -> clusters(3, 1, 2)).isInstanceOf(IllegalArgumentException.class);
  }
}
