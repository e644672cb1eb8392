// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Integer types of all widths, bit operations, vector types and conversions, from C. */
class TypeKernelsTest {
  @Test
  void bytes_promotionsAndTruncations_matchC() throws Exception {
    try (TestGpu gpu = TestGpu.load("types")) {
      int n = 256;
      byte[] a = new byte[n];
      byte[] b = new byte[n];
      new Random(1).nextBytes(a);
      new Random(2).nextBytes(b);
      a[0] = -128;
      b[0] = -1;
      MemorySegment ga = gpu.allocate(n);
      MemorySegment gb = gpu.allocate(n);
      ga.copyFrom(MemorySegment.ofArray(a));
      gb.copyFrom(MemorySegment.ofArray(b));
      MemorySegment out = gpu.allocate(n * 16);

      gpu.run("bytes", TestGpu.blocks(2, 128), ga, gb, out, n);

      for (int i = 0; i < n; i++) {
        int x = a[i];
        int y = b[i] & 255;
        int[] expected = {
          x + y,
          (byte) (x * y),
          x - y & 255,
          x >> 2,
          y >> 3,
          (short) (x << 9),
          x < y ? 1 : 0,
          y != 0 ? x / (y + 1) : x % 7
        };
        for (int j = 0; j < 8; j++) {
          assertThat((int) out.getAtIndex(ValueLayout.JAVA_SHORT, 8 * i + j))
              .as("%d, %d: result %d", x, y, j)
              .isEqualTo(expected[j]);
        }
      }
    }
  }

  @Test
  void shorts_promotionsAndTruncations_matchC() throws Exception {
    try (TestGpu gpu = TestGpu.load("types")) {
      int n = 128;
      MemorySegment a = gpu.allocate(2 * n);
      MemorySegment b = gpu.allocate(2 * n);
      Random random = new Random(3);
      for (int i = 0; i < n; i++) {
        a.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) random.nextInt());
        b.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) random.nextInt());
      }
      MemorySegment out = gpu.allocate(24 * n);

      gpu.run("shorts", TestGpu.blocks(1, n), a, b, out, n);

      for (int i = 0; i < n; i++) {
        short s = a.getAtIndex(ValueLayout.JAVA_SHORT, i);
        int u = b.getAtIndex(ValueLayout.JAVA_SHORT, i) & 0xFFFF;
        int[] expected = {
          (short) (s * s),
          u + u & 0xFFFF,
          s / (u % 11 + 1),
          (short) (s >> (u & 15)),
          u >> (s & 15) & 0xFFFF,
          Math.max(s, (short) u)
        };
        assertThat(out.asSlice(24L * i, 24).toArray(ValueLayout.JAVA_INT)).isEqualTo(expected);
      }
    }
  }

  @Test
  void longs_edgeValues_matchBigIntegers() throws Exception {
    long[] edges = {
      0,
      1,
      -1,
      2,
      -2,
      63,
      64,
      Long.MAX_VALUE,
      Long.MIN_VALUE,
      0xFFFF_FFFFL,
      1L << 32,
      0x1234_5678_9ABC_DEF0L,
      -0x1234_5678_9ABC_DEFL,
      10,
      1_000_000_007L
    };
    long[] a = new long[edges.length * edges.length];
    long[] b = new long[a.length];
    for (int i = 0; i < a.length; i++) {
      a[i] = edges[i / edges.length];
      b[i] = edges[i % edges.length];
    }
    try (TestGpu gpu = TestGpu.load("types")) {
      MemorySegment out = gpu.allocate(a.length * 96L);

      gpu.run("longs", TestGpu.blocks(8, 32), gpu.longs(a), gpu.longs(b), out, a.length);

      for (int i = 0; i < a.length; i++) {
        long x = a[i];
        long y = b[i];
        BigInteger bx = BigInteger.valueOf(x);
        BigInteger by = BigInteger.valueOf(y);
        BigInteger ux = new BigInteger(Long.toUnsignedString(x));
        BigInteger uy = new BigInteger(Long.toUnsignedString(y));
        boolean zero = y == 0;
        int ffs = y == 0 ? 0 : Long.numberOfTrailingZeros(y) + 1;
        long[] expected = {
          bx.add(by).longValue(),
          bx.multiply(by).longValue(),
          zero ? 0 : bx.divide(by).longValue(),
          zero ? 0 : bx.remainder(by).longValue(),
          zero ? 0 : ux.divide(uy).longValue(),
          zero ? 0 : ux.remainder(uy).longValue(),
          bx.multiply(by).shiftRight(64).longValue(),
          ux.multiply(uy).shiftRight(64).longValue(),
          64 - ux.bitLength() + 100 * ffs,
          ux.bitCount(),
          Long.reverse(x),
          x << (y & 63) ^ x >>> (y & 63)
        };
        assertThat(out.asSlice(96L * i, 96).toArray(ValueLayout.JAVA_LONG))
            .as("%d, %d", x, y)
            .isEqualTo(expected);
      }
    }
  }

  @Test
  void bits_edgeAndRandomValues_matchTheirDefinitions() throws Exception {
    Random random = new Random(4);
    int n = 200;
    int[] a = random.ints(n).toArray();
    int[] b = random.ints(n).toArray();
    int[] edges = {0, 1, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0xFFFF};
    for (int i = 0; i < edges.length; i++) {
      a[i] = edges[i];
      b[i] = edges[edges.length - 1 - i];
    }
    try (TestGpu gpu = TestGpu.load("types")) {
      MemorySegment out = gpu.allocate(n * 64);

      gpu.run("bits", TestGpu.blocks(2, 128), gpu.ints(a), gpu.ints(b), out, n);

      for (int i = 0; i < n; i++) {
        int x = a[i];
        int y = b[i];
        long ux = Integer.toUnsignedLong(x);
        long uy = Integer.toUnsignedLong(y);
        long xy = uy << 32 | ux;
        int add4 = 0;
        for (int k = 0; k < 32; k += 8) {
          add4 |= ((x >>> k) + (y >>> k) & 255) << k;
        }
        int permuted = pick(xy, 5) | pick(xy, 1) << 8 | pick(xy, 7) << 16 | pick(xy, 3) << 24;
        int dot = 3;
        for (int k = 0; k < 32; k += 8) {
          dot += (x >>> k & 255) * (y >>> k & 255);
        }
        int[] expected = {
          Integer.reverse(x),
          Integer.numberOfLeadingZeros(x),
          Integer.bitCount(x),
          permuted,
          funnelLeft(x, y),
          (int) (xy >>> 13),
          (int) (ux * uy >>> 32),
          (int) ((long) x * y >> 32),
          (int) (Math.abs((long) x - y) + 5),
          (int) (Math.abs(ux - uy) + 7),
          dot,
          x == 0 ? 0 : Integer.numberOfTrailingZeros(x) + 1,
          (int) (ux + uy >>> 1),
          add4,
          (int) ((long) x + y + 1 >> 1),
          x & y | ~x & y >>> 3
        };
        assertThat(out.asSlice(64L * i, 64).toArray(ValueLayout.JAVA_INT))
            .as("%x, %x", x, y)
            .isEqualTo(expected);
      }
    }
  }

  private static int pick(long bytes, int index) {
    return (int) (bytes >>> 8 * index) & 255;
  }

  /** {@code __funnelshift_l(lo, hi, hi & 31)}. */
  private static int funnelLeft(int low, int high) {
    int n = high & 31;
    return n == 0 ? high : high << n | low >>> 32 - n;
  }

  @Test
  void packs_vectorTypes_loadEachElement() throws Exception {
    try (TestGpu gpu = TestGpu.load("types")) {
      int n = 40;
      MemorySegment u = gpu.allocate(4 * n);
      MemorySegment s = gpu.allocate(4 * n);
      MemorySegment d = gpu.allocate(16 * n);
      Random random = new Random(5);
      for (int i = 0; i < n; i++) {
        u.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt());
        s.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt());
        d.setAtIndex(ValueLayout.JAVA_DOUBLE, 2 * i, random.nextInt(1000) / 8.0);
        d.setAtIndex(ValueLayout.JAVA_DOUBLE, 2 * i + 1, random.nextInt(1000) / -4.0);
      }
      MemorySegment out = gpu.allocate(16 * n);

      gpu.run("packs", TestGpu.blocks(2, 32), u, s, d, out, n);

      for (int i = 0; i < n; i++) {
        int v = u.getAtIndex(ValueLayout.JAVA_INT, i);
        int w = s.getAtIndex(ValueLayout.JAVA_INT, i);
        double x = d.getAtIndex(ValueLayout.JAVA_DOUBLE, 2 * i);
        double y = d.getAtIndex(ValueLayout.JAVA_DOUBLE, 2 * i + 1);
        assertThat(out.asSlice(16L * i, 16).toArray(ValueLayout.JAVA_INT))
            .containsExactly(
                (v & 255) + (v >>> 8 & 255) * (v >>> 16 & 255) - (v >>> 24),
                (short) w * (w >> 16),
                (int) (x * y),
                (int) Math.rint(x - y));
      }
    }
  }

  @Test
  void conversions_edgeValues_roundAndClamp() throws Exception {
    double[] in = {
      0,
      -0.0,
      0.5,
      -0.5,
      1.5,
      2.5,
      -2.5,
      1e9,
      -1e9,
      3e9,
      -3e9,
      5e9,
      1e18,
      -1e18,
      1e19,
      2e19,
      1e300,
      -1e300,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      2147483647.5,
      4294967295.5,
      0x1.fffffefp30,
      16777217,
      -16777219,
      123456789.75
    };
    try (TestGpu gpu = TestGpu.load("types")) {
      MemorySegment out = gpu.allocate(in.length * 128L);

      gpu.run("conversions", TestGpu.blocks(1, 32), gpu.doubles(in), out, in.length);

      for (int i = 0; i < in.length; i++) {
        double d = in[i];
        float f = (float) d;
        long[] results = out.asSlice(128L * i, 128).toArray(ValueLayout.JAVA_LONG);
        long[] expected = {
          (int) d,
          clamp(d, 0, 0xFFFF_FFFFL),
          (long) d,
          unsignedLong(d),
          (int) f,
          clamp(f, 0, 0xFFFF_FFFFL),
          (long) f,
          (int) Math.rint(f),
          (int) Math.ceil(f),
          (int) Math.floor(f),
          (int) Math.rint(d)
        };
        for (int j = 0; j < expected.length; j++) {
          assertThat(results[j]).as("%s: result %d", d, j).isEqualTo(expected[j]);
        }
        assertThat(results[11])
            .as("%s", d)
            .isEqualTo(Double.doubleToRawLongBits((double) (long) (d * 3)));
        assertThat((int) results[12]).as("%s toward zero", d).isEqualTo(towardZero(d));
        assertThat((int) results[14]).isEqualTo(Float.floatToRawIntBits(f));
        assertThat(results[15]).isEqualTo((byte) (int) d);
      }
    }
  }

  private static long clamp(double d, long min, long max) {
    return d <= min ? min : d >= max ? max : (long) d;
  }

  private static long unsignedLong(double d) {
    if (!(d > 0)) {
      return 0;
    }
    return d >= 0x1p64 ? -1 : new BigDecimal(d).toBigInteger().longValue();
  }

  private static int towardZero(double d) {
    if (Double.isInfinite(d)) {
      return Float.floatToRawIntBits((float) d);
    }
    BigDecimal exact = new BigDecimal(d).abs();
    float f = exact.floatValue();
    while (Float.isInfinite(f) || new BigDecimal(f).compareTo(exact) > 0) {
      f = Math.nextDown(f);
    }
    return Float.floatToRawIntBits(Math.copySign(f, (float) d));
  }
}
