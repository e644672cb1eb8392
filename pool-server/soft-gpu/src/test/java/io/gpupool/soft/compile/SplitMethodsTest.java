// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.kernel.TestGpu;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels whose code is spread over many JVM methods compute the same. */
class SplitMethodsTest {
  private static void installSplit(TestGpu gpu, String kernel) throws CompileException {
    gpu.install(KernelCompiler.compile(gpu.module(), kernel, gpu.globalAddresses(), 300));
  }

  @ParameterizedTest
  @ValueSource(strings = {"doubles", "floats"})
  void functions_splitIntoManyMethods_giveTheSameBits(String module) throws Exception {
    double[] points = {0.1, -0.9, 1, 2.5, -7.3, 33.3, 1e-3, 100.7, 0, -0.0, 1e300, Double.NaN};
    byte[][] results = new byte[2][];
    for (int i = 0; i < 2; i++) {
      try (TestGpu gpu = TestGpu.load(module)) {
        if (i == 1) {
          installSplit(gpu, "functions");
        }
        MemorySegment in =
            module.equals("doubles") ? gpu.doubles(points) : gpu.floats(singles(points));
        MemorySegment out = gpu.allocate(points.length * 160L);
        gpu.run("functions", TestGpu.blocks(1, 32), in, out, points.length);
        results[i] = out.toArray(ValueLayout.JAVA_BYTE);
      }
    }
    assertThat(results[1]).isEqualTo(results[0]);
  }

  private static float[] singles(double[] values) {
    float[] singles = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      singles[i] = (float) values[i];
    }
    return singles;
  }

  @Test
  void tiled_splitIntoManyMethods_keepsRegistersAcrossBarriers() throws Exception {
    try (TestGpu gpu = TestGpu.load("matmul")) {
      installSplit(gpu, "tiled");
      int n = 40;
      float[] a = new float[n * n];
      float[] b = new float[n * n];
      for (int i = 0; i < n * n; i++) {
        a[i] = i % 7 - 3;
        b[i] = i % 5 - 2;
      }
      MemorySegment c = gpu.allocate(4L * n * n);

      gpu.run("tiled", TestGpu.grid(3, 3, 16, 16), gpu.floats(a), gpu.floats(b), c, n);

      for (int i = 0; i < n * n; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++) {
          sum += a[i / n * n + k] * b[k * n + i % n];
        }
        assertThat(c.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isEqualTo(sum);
      }
    }
  }

  @Test
  void recursive_splitIntoManyMethods_returnsToTheRightPart() throws Exception {
    try (TestGpu gpu = TestGpu.load("recursion")) {
      installSplit(gpu, "recursive");
      MemorySegment out = gpu.allocate(12 * 4);

      gpu.run("recursive", new Launch(new Dim3(1), new Dim3(12), 0, false), out);

      assertThat(out.toArray(ValueLayout.JAVA_INT))
          .containsExactly(0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89);
    }
  }

  @Test
  void straightLine_tenThousandInstructions_compilesAndRuns() throws Exception {
    StringBuilder ptx =
        new StringBuilder(
            """
            .version 8.0
            .target sm_75
            .address_size 64
            .visible .entry k(.param .u64 p) {
              .reg .b64 %rd<2>;
              .reg .b32 %r<10>;
              ld.param.u64 %rd1, [p];
              ld.global.u32 %r1, [%rd1];
            """);
    int expected = 7;
    for (int i = 0; i < 10_000; i++) {
      ptx.append("mad.lo.s32 %r1, %r1, 1664525, ").append(i).append(";\n");
      expected = expected * 1_664_525 + i;
    }
    ptx.append("st.global.u32 [%rd1], %r1;\nret;\n}\n");
    try (TestGpu gpu = TestGpu.withPtx(ptx.toString())) {
      MemorySegment p = gpu.ints(7);

      gpu.run("k", TestGpu.blocks(1, 1), p);

      assertThat(p.get(ValueLayout.JAVA_INT, 0)).isEqualTo(expected);
      assertThat(Arrays.stream(gpu.kernel("k").code().getClass().getDeclaredMethods()))
          .hasSizeGreaterThan(5);
    }
  }

  @Test
  void manyValues_shuffledInTurn_stayInTheFrameAndNeedFewMethods() throws Exception {
    int values = 40;
    int rounds = 20;
    StringBuilder ptx =
        new StringBuilder(
            """
            .version 8.0
            .target sm_75
            .address_size 64
            .visible .entry k(.param .u64 p) {
              .reg .b64 %rd<4>;
              .reg .b32 %r<50>;
              mov.u32 %r49, %tid.x;
              mul.wide.u32 %rd2, %r49, 160;
              ld.param.u64 %rd1, [p];
              add.s64 %rd1, %rd1, %rd2;
            """);
    for (int i = 0; i < values; i++) {
      ptx.append("mad.lo.s32 %r" + i + ", %r49, 1000, " + i + ";\n");
    }
    for (int i = 0; i < values * rounds; i++) {
      String register = "%r" + i % values;
      ptx.append("shfl.sync.bfly.b32 " + register + ", " + register + ", " + (i / values + 1) % 32);
      ptx.append(", 31, -1;\n");
    }
    for (int i = 0; i < values; i++) {
      ptx.append("st.global.u32 [%rd1+" + 4 * i + "], %r" + i + ";\n");
    }
    ptx.append("ret;\n}\n");
    int from = 0;
    for (int round = 1; round <= rounds; round++) {
      from ^= round % 32;
    }
    try (TestGpu gpu = TestGpu.withPtx(ptx.toString())) {
      MemorySegment p = gpu.allocate(4L * values * 32);

      gpu.run("k", TestGpu.blocks(1, 32), p);

      for (int i = 0; i < values * 32; i++) {
        assertThat(p.getAtIndex(ValueLayout.JAVA_INT, i))
            .isEqualTo((i / values ^ from) * 1000 + i % values);
      }
      // Saved and restored at every step, the values would fill sixty methods.
      assertThat(Arrays.stream(gpu.kernel("k").code().getClass().getDeclaredMethods()))
          .filteredOn(method -> method.getName().startsWith("thread"))
          .hasSizeLessThan(20);
    }
  }
}
