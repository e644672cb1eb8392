// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Reductions, scans, sorts and histograms: barriers, shuffles and atomics at work. */
class CollectiveKernelsTest {
  private static int[] randomInts(int n, int bound, long seed) {
    return new Random(seed).ints(n, -bound, bound).toArray();
  }

  private static int intAt(MemorySegment segment, long index) {
    return segment.getAtIndex(ValueLayout.JAVA_INT, index);
  }

  @Test
  void sumInts_shufflesAndAtomics_addAll() throws Exception {
    try (TestGpu gpu = TestGpu.load("reduce")) {
      int[] in = randomInts(100_003, 1000, 1);
      MemorySegment out = gpu.ints(0);

      gpu.run("sumInts", TestGpu.blocks(7, 224), gpu.ints(in), out, in.length);

      assertThat(intAt(out, 0)).isEqualTo(Arrays.stream(in).sum());
    }
  }

  @Test
  void sumDoubles_sharedMemoryTree_addsAll() throws Exception {
    try (TestGpu gpu = TestGpu.load("reduce")) {
      double[] in = new double[1000];
      Arrays.setAll(in, i -> i * 0.25);
      MemorySegment out = gpu.doubles(0);

      gpu.run("sumDoubles", TestGpu.blocks(4, 256, 256 * 8), gpu.doubles(in), out, in.length);

      assertThat(out.get(ValueLayout.JAVA_DOUBLE, 0)).isEqualTo(Arrays.stream(in).sum());
    }
  }

  @Test
  void butterfly_xorShuffles_giveEveryLaneTheSum() throws Exception {
    try (TestGpu gpu = TestGpu.load("reduce")) {
      float[] in = new float[128];
      for (int i = 0; i < in.length; i++) {
        in[i] = i;
      }
      MemorySegment out = gpu.allocate(128 * 4);

      gpu.run("butterfly", TestGpu.blocks(2, 64), gpu.floats(in), out);

      for (int i = 0; i < in.length; i++) {
        int warp = i / 32;
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, i))
            .isEqualTo(32 * 32 * warp + 31 * 32 / 2);
      }
    }
  }

  @Test
  void reduceOps_redux_matchesJava() throws Exception {
    try (TestGpu gpu = TestGpu.load("reduce")) {
      int[] in = new Random(9).ints(32).toArray();
      MemorySegment out = gpu.allocate(32 * 8 * 4);

      gpu.run("reduceOps", TestGpu.blocks(1, 32), gpu.ints(in), out);

      int[] expected = {
        Arrays.stream(in).sum(),
        Arrays.stream(in).reduce((a, b) -> Integer.compareUnsigned(a, b) < 0 ? a : b).orElseThrow(),
        Arrays.stream(in).reduce((a, b) -> Integer.compareUnsigned(a, b) > 0 ? a : b).orElseThrow(),
        Arrays.stream(in).reduce((a, b) -> a & b).orElseThrow(),
        Arrays.stream(in).reduce((a, b) -> a | b).orElseThrow(),
        Arrays.stream(in).reduce((a, b) -> a ^ b).orElseThrow(),
        Arrays.stream(in).min().orElseThrow(),
        Arrays.stream(in).max().orElseThrow()
      };
      for (int i = 0; i < 32 * 8; i++) {
        assertThat(intAt(out, i)).isEqualTo(expected[i % 8]);
      }
    }
  }

  @Test
  void countPositive_barrierReductions_seeTheWholeBlock() throws Exception {
    try (TestGpu gpu = TestGpu.load("reduce")) {
      int[] in = randomInts(300, 50, 3);
      Arrays.fill(in, 200, 300, 1);
      MemorySegment out = gpu.allocate(3 * 3 * 4);

      gpu.run("countPositive", TestGpu.blocks(3, 100), gpu.ints(in), out, in.length);

      for (int block = 0; block < 3; block++) {
        long count = Arrays.stream(in, 100 * block, 100 * block + 100).filter(v -> v > 0).count();
        assertThat(intAt(out, 3 * block)).isEqualTo((int) count);
        assertThat(intAt(out, 3 * block + 1)).isEqualTo(count > 0 ? 1 : 0);
        assertThat(intAt(out, 3 * block + 2)).isEqualTo(count == 100 ? 1 : 0);
      }
    }
  }

  @Test
  void inclusiveBlock_thenOffsets_isThePrefixSum() throws Exception {
    try (TestGpu gpu = TestGpu.load("scan")) {
      int[] in = randomInts(2000, 100, 4);
      MemorySegment out = gpu.allocate(in.length * 4L);
      MemorySegment totals = gpu.allocate(8 * 4);

      gpu.run("inclusiveBlock", TestGpu.blocks(8, 256), gpu.ints(in), out, totals, in.length);
      for (int i = 1; i < 8; i++) {
        totals.setAtIndex(ValueLayout.JAVA_INT, i, intAt(totals, i) + intAt(totals, i - 1));
      }
      gpu.run("addOffsets", TestGpu.blocks(8, 256), out, totals, in.length);

      expectPrefixSums(in, out);
    }
  }

  @Test
  void chained_blocksAwaitTheirPredecessors_isThePrefixSum() throws Exception {
    try (TestGpu gpu = TestGpu.load("scan")) {
      int[] in = randomInts(10_000, 100, 5);
      MemorySegment out = gpu.allocate(in.length * 4L);
      int blocks = 40;

      gpu.run(
          "chained",
          TestGpu.blocks(blocks, 256),
          gpu.ints(in),
          out,
          gpu.allocate(blocks * 4),
          gpu.allocate(blocks * 4),
          gpu.ints(0),
          in.length);

      expectPrefixSums(in, out);
    }
  }

  private static void expectPrefixSums(int[] in, MemorySegment out) {
    int sum = 0;
    for (int i = 0; i < in.length; i++) {
      sum += in[i];
      assertThat(intAt(out, i)).isEqualTo(sum);
    }
  }

  @Test
  void histogram_sharedAndGlobalAtomics_countEveryByte() throws Exception {
    try (TestGpu gpu = TestGpu.load("histogram")) {
      byte[] data = new byte[50_000];
      new Random(6).nextBytes(data);
      int[] expected = new int[256];
      for (byte b : data) {
        expected[b & 255]++;
      }
      MemorySegment in = gpu.allocate(data.length);
      in.copyFrom(MemorySegment.ofArray(data));
      MemorySegment bins = gpu.allocate(256 * 4);

      gpu.run("histogram", TestGpu.blocks(6, 192), in, bins, data.length);

      assertThat(bins.toArray(ValueLayout.JAVA_INT)).isEqualTo(expected);
    }
  }

  @Test
  void sortBlock_bitonic_sortsEachBlock() throws Exception {
    try (TestGpu gpu = TestGpu.load("bitonic")) {
      int[] data = randomInts(1024, 1_000_000, 7);
      MemorySegment keys = gpu.ints(data);

      gpu.run("sortBlock", TestGpu.blocks(2, 512, 512 * 4), keys);

      Arrays.sort(data, 0, 512);
      Arrays.sort(data, 512, 1024);
      assertThat(keys.toArray(ValueLayout.JAVA_INT)).isEqualTo(data);
    }
  }

  @Test
  void step_globalBitonic_sortsUnsignedLongs() throws Exception {
    try (TestGpu gpu = TestGpu.load("bitonic")) {
      long[] data = new Random(8).longs(256).toArray();
      MemorySegment keys = gpu.longs(data);

      for (int k = 2; k <= 256; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
          gpu.run("step", TestGpu.blocks(4, 64), keys, j, k);
        }
      }

      long[] expected =
          Arrays.stream(data).boxed().sorted(Long::compareUnsigned).mapToLong(v -> v).toArray();
      assertThat(keys.toArray(ValueLayout.JAVA_LONG)).isEqualTo(expected);
    }
  }

  @Test
  void ints_everyAtomicOperation_losesNoUpdate() throws Exception {
    try (TestGpu gpu = TestGpu.load("atomics")) {
      int n = 1024;
      MemorySegment w = gpu.allocate((16 + n) * 4L);
      w.setAtIndex(ValueLayout.JAVA_INT, 4, -1);
      w.setAtIndex(ValueLayout.JAVA_INT, 11, -1);

      gpu.run("ints", new Launch(new Dim3(4), new Dim3(256), 0, false), w);

      int sum = n * (n - 1) / 2;
      int xor = 0;
      for (int t = 0; t < n; t++) {
        xor ^= t;
      }
      int[] expected = {
        sum,
        -sum,
        -1000,
        n - 1,
        -1 & ~255,
        -1,
        xor,
        n % 100,
        0,
        1,
        1,
        0x8000_0000,
        0x8000_0000 + n - 1,
        n,
        2 * n
      };
      int dec = 0;
      for (int t = 0; t < n; t++) {
        dec = dec == 0 || dec > 77 ? 77 : dec - 1;
      }
      expected[8] = dec;
      for (int i = 0; i < expected.length; i++) {
        assertThat(intAt(w, i)).as("word %d", i).isEqualTo(expected[i]);
      }
      for (int i = 0; i < n; i++) {
        assertThat(intAt(w, 16 + i)).as("ticket %d", i).isEqualTo(1);
      }
    }
  }

  @Test
  void wide_atomicsOn64BitsAndFloats_loseNoUpdate() throws Exception {
    try (TestGpu gpu = TestGpu.load("atomics")) {
      long n = 512;
      MemorySegment w = gpu.longs(0, -1, Long.MIN_VALUE, -1, 0, 0, 0, 0);
      MemorySegment d = gpu.doubles(0);
      MemorySegment f = gpu.floats(0);

      gpu.run("wide", TestGpu.blocks(2, 256), w, d, f);

      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 0)).isEqualTo(n * (n - 1) / 2 << 20);
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 1)).isEqualTo(~(n - 1));
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 2)).isEqualTo(n - 6);
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 3)).isZero();
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 4)).isEqualTo(-1);
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 5)).isZero();
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 6)).isBetween(0L, n - 1);
      assertThat(w.getAtIndex(ValueLayout.JAVA_LONG, 7)).isEqualTo(3 * n);
      assertThat(d.get(ValueLayout.JAVA_DOUBLE, 0)).isEqualTo(n * 0.5);
      assertThat(f.get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(n);
    }
  }

  @Test
  void shared_atomicsInSharedMemory_loseNoUpdate() throws Exception {
    try (TestGpu gpu = TestGpu.load("atomics")) {
      MemorySegment out = gpu.allocate((3 + 256) * 4);

      gpu.run("shared", TestGpu.blocks(1, 256), out);

      assertThat(intAt(out, 0)).isEqualTo(768);
      assertThat(intAt(out, 1)).isEqualTo(256);
      assertThat(intAt(out, 2)).isEqualTo(64);
      for (int i = 0; i < 256; i++) {
        assertThat(intAt(out, 3 + i)).isEqualTo(1);
      }
    }
  }

  @Test
  void narrow_compareAndSwapOf16Bits_leavesTheNeighbourAlone() throws Exception {
    try (TestGpu gpu = TestGpu.load("atomics")) {
      MemorySegment w = gpu.ints(0x0000_1234);

      gpu.run("narrow", TestGpu.blocks(4, 64), w);

      assertThat(intAt(w, 0)).isEqualTo(256 << 16 | 0x1234);
    }
  }
}
