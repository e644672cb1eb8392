// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;

/** CUDA's math library, as nvcc inlines it, and directed rounding. */
class MathKernelsTest {
  private static final double[] POINTS = {
    0.1, -0.1, 0.5, 0.75, -0.9, 1, -1, 1.25, -2.5, 3.0, 5.5, -7.3, 10, -12.5, 20.125, 33.3, 1e-3,
    -1e-5, 100.7, 600.1
  };

  @Test
  void doubles_libraryFunctions_areWithinTwoUnits() throws Exception {
    List<DoubleUnaryOperator> functions =
        List.of(
            Math::sin,
            Math::cos,
            Math::tan,
            Math::exp,
            x -> Math.log(Math.abs(x)),
            x -> Math.sqrt(Math.abs(x)),
            x -> Math.pow(Math.abs(x), 1.37),
            x -> Math.atan2(x, 2.0),
            Math::tanh,
            Math::cbrt,
            MathKernelsTest::erf,
            Math::floor,
            x -> x % 0.7,
            x -> 1.0 / x,
            x -> 1 / Math.sqrt(Math.abs(x)),
            x -> x / 3.0,
            x -> Math.hypot(x, 3.0),
            x -> Math.log1p(Math.abs(x)),
            Math::expm1);
    try (TestGpu gpu = TestGpu.load("doubles")) {
      MemorySegment out = gpu.allocate(POINTS.length * 160L);

      gpu.run("functions", TestGpu.blocks(1, 32), gpu.doubles(POINTS), out, POINTS.length);

      for (int i = 0; i < POINTS.length; i++) {
        for (int j = 0; j < functions.size(); j++) {
          double expected = functions.get(j).applyAsDouble(POINTS[i]);
          double actual = out.getAtIndex(ValueLayout.JAVA_DOUBLE, 20 * i + j);
          double slack = (j == 10 ? 1e4 : 3) * Math.ulp(expected);
          assertThat(Math.abs(actual - expected))
              .as("function %d of %s: %s, expected %s", j, POINTS[i], actual, expected)
              .isLessThanOrEqualTo(slack);
        }
      }
    }
  }

  /** The error function by its series or continued fraction in plain double precision. */
  private static double erf(double x) {
    double a = Math.abs(x);
    if (a > 6) {
      return Math.signum(x);
    }
    BigDecimal sum = BigDecimal.ZERO;
    BigDecimal term = new BigDecimal(a);
    BigDecimal square = term.multiply(term).negate();
    MathContext digits = new MathContext(60);
    for (int n = 0; n < 300; n++) {
      sum = sum.add(term.divide(BigDecimal.valueOf(2L * n + 1), digits), digits);
      term = term.multiply(square).divide(BigDecimal.valueOf(n + 1L), digits);
    }
    return Math.copySign(sum.doubleValue() * 2 / Math.sqrt(Math.PI), x);
  }

  @Test
  void floats_libraryFunctions_areWithinFourUnits() throws Exception {
    List<DoubleUnaryOperator> functions =
        List.of(
            Math::sin,
            Math::cos,
            Math::tan,
            Math::exp,
            x -> Math.log(Math.abs(x)),
            x -> Math.sqrt(Math.abs(x)),
            x -> Math.pow(Math.abs(x), 1.37f),
            x -> Math.atan2(x, 2.0),
            Math::tanh,
            Math::cbrt,
            MathKernelsTest::erf,
            Math::floor,
            x -> (float) x % 0.7f,
            x -> 1.0 / x,
            x -> 1 / Math.sqrt(Math.abs(x)),
            x -> x / 3.0,
            x -> Math.hypot(x, 3.0),
            x -> Math.log1p(Math.abs(x)),
            x -> Math.pow(2, x),
            Math::rint);
    float[] in = new float[POINTS.length];
    for (int i = 0; i < in.length; i++) {
      in[i] = (float) Math.clamp(POINTS[i], -80, 80);
    }
    try (TestGpu gpu = TestGpu.load("floats")) {
      MemorySegment out = gpu.allocate(in.length * 80L);

      gpu.run("functions", TestGpu.blocks(1, 32), gpu.floats(in), out, in.length);

      for (int i = 0; i < in.length; i++) {
        for (int j = 0; j < functions.size(); j++) {
          double expected = functions.get(j).applyAsDouble(in[i]);
          float actual = out.getAtIndex(ValueLayout.JAVA_FLOAT, 20 * i + j);
          assertThat(Math.abs(actual - expected))
              .as("function %d of %s: %s, expected %s", j, in[i], actual, expected)
              .isLessThanOrEqualTo(4.5 * Math.ulp((float) expected));
        }
      }
    }
  }

  @Test
  void intrinsics_fastMath_areClose() throws Exception {
    float[] in = {0.5f, -0.25f, 1, 2, -3, 0.1f, 7.5f};
    List<DoubleUnaryOperator> functions =
        List.of(
            Math::sin,
            Math::cos,
            Math::exp,
            x -> Math.log(Math.abs(x)),
            x -> x / 3,
            x -> Math.clamp(x, 0, 1),
            x -> (float) (1 / x),
            x -> (float) Math.sqrt(Math.abs(x)),
            x -> Math.pow(Math.abs(x), 1.5),
            x -> x * x + 1);
    try (TestGpu gpu = TestGpu.load("floats")) {
      MemorySegment out = gpu.allocate(in.length * 40L);

      gpu.run("intrinsics", TestGpu.blocks(1, 32), gpu.floats(in), out, in.length);

      for (int i = 0; i < in.length; i++) {
        for (int j = 0; j < functions.size(); j++) {
          double expected = functions.get(j).applyAsDouble(in[i]);
          assertThat((double) out.getAtIndex(ValueLayout.JAVA_FLOAT, 10 * i + j))
              .as("function %d of %s", j, in[i])
              .isCloseTo(
                  expected,
                  org.assertj.core.api.Assertions.within(2e-6 + 4e-7 * Math.abs(expected)));
        }
      }
    }
  }

  /** Round to nearest, toward zero, up and down: the order of results in the kernel. */
  private static final int[] MODES = {0, 1, 2, 3};

  @Test
  void rounding_directedModes_areExact() throws Exception {
    List<float[]> triples = new ArrayList<>();
    float[] edges = {
      1,
      -1,
      0.1f,
      -0.3f,
      3,
      1e-30f,
      -1e30f,
      1e-45f,
      3.4e38f,
      -1.1e-38f,
      0x1.fffffep0f,
      7,
      0x1.000002p0f,
      0,
      -0.0f
    };
    for (float a : edges) {
      for (float b : edges) {
        triples.add(new float[] {a, b, edges[triples.size() % edges.length]});
      }
    }
    Random random = new Random(1);
    for (int i = 0; i < 500; i++) {
      triples.add(
          new float[] {
            finite(random.nextInt()), finite(random.nextInt()), finite(random.nextInt())
          });
    }
    int n = triples.size();
    float[][] in = new float[3][n];
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < 3; k++) {
        in[k][i] = triples.get(i)[k];
      }
    }
    try (TestGpu gpu = TestGpu.load("floats")) {
      MemorySegment out = gpu.allocate(n * 96L);

      gpu.run(
          "rounding",
          TestGpu.blocks(n / 64 + 1, 64),
          gpu.floats(in[0]),
          gpu.floats(in[1]),
          gpu.floats(in[2]),
          out,
          n);

      for (int i = 0; i < n; i++) {
        float[] t = triples.get(i);
        BigDecimal a = new BigDecimal(t[0]);
        BigDecimal b = new BigDecimal(t[1]);
        BigDecimal c = new BigDecimal(t[2]);
        expect(out, 24 * i, t, a.add(b), "add");
        expect(out, 24 * i + 4, t, a.multiply(b), "mul");
        expect(out, 24 * i + 8, t, a.multiply(b).add(c), "fma");
        // 400 digits separate any quotient or root from every 24-bit value it does not equal.
        MathContext digits = new MathContext(400, RoundingMode.DOWN);
        if (b.signum() != 0) {
          expect(out, 24 * i + 12, t, a.divide(b, digits), "div");
        }
        expect(out, 24 * i + 16, t, a.abs().sqrt(digits), "sqrt");
        if (a.signum() != 0) {
          expect(out, 24 * i + 20, t, BigDecimal.ONE.divide(a, digits), "rcp");
        }
      }
    }
  }

  private static float finite(int bits) {
    float value = Float.intBitsToFloat(bits);
    return Float.isFinite(value) ? value : 1.5f;
  }

  private static void expect(
      MemorySegment out, int index, float[] inputs, BigDecimal exact, String name) {
    for (int mode : MODES) {
      float actual = out.getAtIndex(ValueLayout.JAVA_FLOAT, index + mode);
      float expected = round(exact, mode);
      // The sign of zero is tested where zeros are.
      if (expected == 0 && actual == 0) {
        continue;
      }
      assertThat(actual)
          .as("%s mode %d of %s %s %s", name, mode, inputs[0], inputs[1], inputs[2])
          .isEqualTo(expected);
    }
  }

  /** Rounds an exact value: 0 nearest even, 1 toward zero, 2 up, 3 down. */
  private static float round(BigDecimal exact, int mode) {
    float nearest = exact.floatValue();
    if (mode == 0) {
      return nearest;
    }
    float low = nearest;
    while (Float.isInfinite(low) ? low > 0 : new BigDecimal(low).compareTo(exact) > 0) {
      low = Math.nextDown(low);
    }
    float high = nearest;
    while (Float.isInfinite(high) ? high < 0 : new BigDecimal(high).compareTo(exact) < 0) {
      high = Math.nextUp(high);
    }
    return mode == 2 || mode == 1 && exact.signum() < 0 ? high : low;
  }
}
