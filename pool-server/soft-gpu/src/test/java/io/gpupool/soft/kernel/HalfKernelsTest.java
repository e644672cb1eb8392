// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Half and bfloat16 arithmetic from C, against exact sums and products rounded once. */
class HalfKernelsTest {
  private static short[] randomHalves(int n, long seed, boolean brain) {
    Random random = new Random(seed);
    short[] values = new short[n];
    for (int i = 0; i < n; i++) {
      short bits = (short) random.nextInt();
      boolean finite = Float.isFinite(toFloat(bits, brain));
      values[i] = finite ? bits : 0x3C00;
    }
    return values;
  }

  private static float toFloat(short bits, boolean brain) {
    return brain ? Float.intBitsToFloat(bits << 16) : Float.float16ToFloat(bits);
  }

  /** The nearest half or bfloat16, ties to even, found among the neighbours. */
  private static short round(BigDecimal exact, boolean brain) {
    int limit = brain ? 0x7F80 : 0x7C00;
    int low = 0;
    int high = limit;
    BigDecimal magnitude = exact.abs();
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (new BigDecimal(toFloat((short) middle, brain)).compareTo(magnitude) <= 0) {
        low = middle;
      } else {
        high = middle;
      }
    }
    BigDecimal below = new BigDecimal(toFloat((short) low, brain));
    BigDecimal above =
        high == limit
            ? below
                .multiply(BigDecimal.valueOf(2))
                .subtract(new BigDecimal(toFloat((short) (low - 1), brain)))
            : new BigDecimal(toFloat((short) high, brain));
    int side = magnitude.subtract(below).compareTo(above.subtract(magnitude));
    int nearest = side < 0 || side == 0 && low % 2 == 0 ? low : high;
    return (short) (exact.signum() < 0 ? nearest | 0x8000 : nearest);
  }

  private MemorySegment shorts(TestGpu gpu, short[] values) {
    MemorySegment segment = gpu.allocate(values.length * 2L);
    segment.copyFrom(MemorySegment.ofArray(values));
    return segment;
  }

  private static void expect(short actual, BigDecimal exact, boolean brain, String what) {
    if (exact.signum() == 0) {
      assertThat(actual & 0x7FFF).as(what).isZero();
      return;
    }
    assertThat(actual).as(what).isEqualTo(round(exact, brain));
  }

  @Test
  void half1_randomValues_roundOnce() throws Exception {
    int n = 2000;
    short[] a = randomHalves(n, 1, false);
    short[] b = randomHalves(n, 2, false);
    try (TestGpu gpu = TestGpu.load("halves")) {
      MemorySegment out = gpu.allocate(n * 24L);

      gpu.run("half1", TestGpu.blocks(16, 128), shorts(gpu, a), shorts(gpu, b), out, n);

      for (int i = 0; i < n; i++) {
        short[] o = out.asSlice(24L * i, 24).toArray(ValueLayout.JAVA_SHORT);
        float x = toFloat(a[i], false);
        float y = toFloat(b[i], false);
        BigDecimal bx = new BigDecimal(x);
        BigDecimal by = new BigDecimal(y);
        String what = x + ", " + y;
        expect(o[0], bx.add(by), false, what);
        expect(o[1], bx.subtract(by), false, what);
        expect(o[2], bx.multiply(by), false, what);
        expect(o[4], bx.multiply(by).add(bx), false, what);
        assertThat(o[5]).isEqualTo((short) (a[i] ^ 0x8000));
        assertThat(o[6]).isEqualTo((short) (a[i] & 0x7FFF));
        assertThat(toFloat(o[7], false)).isEqualTo(Math.min(x, y));
        assertThat(toFloat(o[8], false)).isEqualTo(Math.max(x, y));
        expect(o[9], bx.abs().sqrt(MathContext.DECIMAL128), false, what);
        assertThat(toFloat(o[11], false)).isEqualTo(x < y ? 1 : -2.5f);
      }
    }
  }

  @Test
  void half2s_randomValues_workOnBothHalves() throws Exception {
    int n = 500;
    short[] a = randomHalves(2 * n, 3, false);
    short[] b = randomHalves(2 * n, 4, false);
    try (TestGpu gpu = TestGpu.load("halves")) {
      MemorySegment out = gpu.allocate(n * 16L);

      gpu.run("half2s", TestGpu.blocks(4, 128), shorts(gpu, a), shorts(gpu, b), out, n);

      for (int i = 0; i < 2 * n; i++) {
        short[] o = new short[4];
        for (int j = 0; j < 4; j++) {
          o[j] = out.getAtIndex(ValueLayout.JAVA_SHORT, i / 2 * 8 + 2 * j + i % 2);
        }
        BigDecimal x = new BigDecimal(toFloat(a[i], false));
        BigDecimal y = new BigDecimal(toFloat(b[i], false));
        expect(o[0], x.add(y), false, "add");
        expect(o[1], x.multiply(y).add(x), false, "fma");
        expect(o[2], x.multiply(y), false, "mul");
        float other = toFloat(b[i ^ 1], false);
        assertThat(toFloat(o[3], false)).isEqualTo(Math.max(x.floatValue(), other));
      }
    }
  }

  @Test
  void bfloat_randomValues_roundOnce() throws Exception {
    int n = 1000;
    short[] a = randomHalves(n, 5, true);
    short[] b = randomHalves(n, 6, true);
    try (TestGpu gpu = TestGpu.load("halves")) {
      MemorySegment out = gpu.allocate(n * 16L);

      gpu.run("bfloat", TestGpu.blocks(8, 128), shorts(gpu, a), shorts(gpu, b), out, n);

      for (int i = 0; i < n; i++) {
        short[] o = out.asSlice(16L * i, 16).toArray(ValueLayout.JAVA_SHORT);
        float x = toFloat(a[i], true);
        float y = toFloat(b[i], true);
        BigDecimal bx = new BigDecimal(x);
        BigDecimal by = new BigDecimal(y);
        String what = x + ", " + y;
        expect(o[0], bx.add(by), true, what);
        expect(o[1], bx.subtract(by), true, what);
        expect(o[2], bx.multiply(by), true, what);
        expect(o[4], bx.multiply(by).add(bx), true, what);
        assertThat(toFloat(o[5], true)).isEqualTo(Math.min(x, y));
        assertThat(toFloat(o[7], true)).isEqualTo(x > y ? x : y);
      }
    }
  }

  @Test
  void halfAtomics_manyThreads_loseNoUpdate() throws Exception {
    try (TestGpu gpu = TestGpu.load("halves")) {
      MemorySegment pair = gpu.allocate(4);
      MemorySegment single = gpu.allocate(4);

      gpu.run("halfAtomics", TestGpu.blocks(4, 64), pair, single);

      assertThat(toFloat(pair.get(ValueLayout.JAVA_SHORT, 0), false)).isEqualTo(256);
      assertThat(toFloat(pair.get(ValueLayout.JAVA_SHORT, 2), false)).isEqualTo(128);
      assertThat(toFloat(single.get(ValueLayout.JAVA_SHORT, 0), false)).isEqualTo(256);
    }
  }
}
