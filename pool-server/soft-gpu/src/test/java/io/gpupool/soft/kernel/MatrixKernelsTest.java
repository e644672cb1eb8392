// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Matrix and grid kernels with shared memory and barriers. */
class MatrixKernelsTest {
  private static float[] smallInts(int n, long seed) {
    Random random = new Random(seed);
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = random.nextInt(9) - 4;
    }
    return values;
  }

  private static void expectProduct(float[] a, float[] b, MemorySegment c, int n) {
    for (int row = 0; row < n; row++) {
      for (int col = 0; col < n; col++) {
        float sum = 0;
        for (int k = 0; k < n; k++) {
          sum += a[row * n + k] * b[k * n + col];
        }
        assertThat(c.getAtIndex(ValueLayout.JAVA_FLOAT, row * n + col)).isEqualTo(sum);
      }
    }
  }

  @Test
  void tiledAndNaive_sizeNotMultipleOfTile_giveTheExactProduct() throws Exception {
    try (TestGpu gpu = TestGpu.load("matmul")) {
      int n = 77;
      float[] a = smallInts(n * n, 1);
      float[] b = smallInts(n * n, 2);
      MemorySegment tiled = gpu.allocate(4L * n * n);
      MemorySegment naive = gpu.allocate(4L * n * n);

      gpu.run("tiled", TestGpu.grid(5, 5, 16, 16), gpu.floats(a), gpu.floats(b), tiled, n);
      gpu.run("naive", TestGpu.grid(5, 5, 16, 16), gpu.floats(a), gpu.floats(b), naive, n);

      expectProduct(a, b, tiled, n);
      expectProduct(a, b, naive, n);
    }
  }

  @Test
  void dynamicTiled_dynamicSharedMemory_givesTheExactProduct() throws Exception {
    try (TestGpu gpu = TestGpu.load("matmul")) {
      int n = 32;
      double[] a = new double[n * n];
      double[] b = new double[n * n];
      for (int i = 0; i < n * n; i++) {
        a[i] = i % 7 - 3;
        b[i] = i % 5 - 2;
      }
      MemorySegment c = gpu.allocate(8L * n * n);

      gpu.run(
          "dynamicTiled",
          new Launch(new Dim3(4, 4), new Dim3(8, 8), 2 * 64 * 8, false),
          gpu.doubles(a),
          gpu.doubles(b),
          c,
          n);

      for (int i = 0; i < n * n; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) {
          sum += a[i / n * n + k] * b[k * n + i % n];
        }
        assertThat(c.getAtIndex(ValueLayout.JAVA_DOUBLE, i)).isEqualTo(sum);
      }
    }
  }

  @Test
  void transpose_paddedTile_swapsRowsAndColumns() throws Exception {
    try (TestGpu gpu = TestGpu.load("transpose")) {
      int width = 70;
      int height = 45;
      float[] in = smallInts(width * height, 3);
      MemorySegment out = gpu.allocate(4L * width * height);

      gpu.run("transpose", TestGpu.grid(3, 2, 32, 8), gpu.floats(in), out, width, height);

      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
          assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, x * height + y))
              .isEqualTo(in[y * width + x]);
        }
      }
    }
  }

  @Test
  void heat_threeDimensions_matchesTheFormula() throws Exception {
    try (TestGpu gpu = TestGpu.load("stencil")) {
      int nx = 10;
      int ny = 9;
      int nz = 8;
      double[] in = new double[nx * ny * nz];
      for (int i = 0; i < in.length; i++) {
        in[i] = (i * 37 % 101) / 8.0;
      }
      MemorySegment out = gpu.allocate(8L * in.length);

      gpu.run(
          "heat",
          new Launch(new Dim3(3, 3, 2), new Dim3(4, 4, 4), 0, false),
          gpu.doubles(in),
          out,
          nx,
          ny,
          nz,
          0.125);

      for (int z = 0; z < nz; z++) {
        for (int y = 0; y < ny; y++) {
          for (int x = 0; x < nx; x++) {
            int i = (z * ny + y) * nx + x;
            boolean edge = x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
            double expected =
                edge
                    ? in[i]
                    : in[i]
                        + 0.125
                            * (in[i - 1]
                                + in[i + 1]
                                + in[i - nx]
                                + in[i + nx]
                                + in[i - nx * ny]
                                + in[i + nx * ny]
                                - 6 * in[i]);
            assertThat(out.getAtIndex(ValueLayout.JAVA_DOUBLE, i)).isEqualTo(expected);
          }
        }
      }
    }
  }

  @Test
  void filter_constantWeights_matchesTheFormula() throws Exception {
    try (TestGpu gpu = TestGpu.load("stencil")) {
      int n = 600;
      float[] in = smallInts(n, 4);
      float[] weights = {0.5f, 1, 1.5f, 2, 4, 2, 1.5f, 1, 0.5f};
      MemorySegment out = gpu.allocate(4L * n);

      gpu.run("filter", TestGpu.blocks(3, 256), gpu.floats(in), out, n);

      for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < 9; j++) {
          int at = i + j - 4;
          sum += at >= 0 && at < n ? weights[j] * in[at] : 0;
        }
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isEqualTo(sum);
      }
    }
  }

  @Test
  void mandelbrot_divergentLoops_matchesJava() throws Exception {
    try (TestGpu gpu = TestGpu.load("mandelbrot")) {
      int width = 50;
      int height = 40;
      MemorySegment out = gpu.allocate(4L * width * height);

      gpu.run("mandelbrot", TestGpu.grid(4, 3, 16, 16), out, width, height, -2.0, -1.5, 0.07, 100);

      for (int py = 0; py < height; py++) {
        for (int px = 0; px < width; px++) {
          assertThat(out.getAtIndex(ValueLayout.JAVA_INT, py * width + px))
              .isEqualTo(escape(Math.fma(px, 0.07, -2.0), Math.fma(py, 0.07, -1.5)));
        }
      }
    }
  }

  /** The loop with the products fused as nvcc fuses them. */
  private static int escape(double cx, double cy) {
    double x = 0;
    double y = 0;
    int n = 0;
    while (n < 100 && Math.fma(x, x, y * y) <= 4.0) {
      double t = x * x - y * y + cx;
      y = Math.fma(x + x, y, cy);
      x = t;
      n++;
    }
    return n;
  }

  @Test
  void accelerate_allPairs_isCloseToDoublePrecision() throws Exception {
    try (TestGpu gpu = TestGpu.load("nbody")) {
      int n = 128;
      float[] bodies = smallInts(4 * n, 5);
      for (int i = 0; i < n; i++) {
        bodies[4 * i + 3] = 1 + i % 3;
      }
      MemorySegment out = gpu.allocate(16L * n);

      gpu.run("accelerate", TestGpu.blocks(2, 64, 64 * 16), gpu.floats(bodies), out, n);

      for (int i = 0; i < n; i++) {
        double[] sum = new double[3];
        for (int j = 0; j < n; j++) {
          double[] d = new double[3];
          double squares = 1e-3f;
          for (int axis = 0; axis < 3; axis++) {
            d[axis] = bodies[4 * j + axis] - bodies[4 * i + axis];
            squares += d[axis] * d[axis];
          }
          double s = bodies[4 * j + 3] / (squares * Math.sqrt(squares));
          for (int axis = 0; axis < 3; axis++) {
            sum[axis] += d[axis] * s;
          }
        }
        for (int axis = 0; axis < 3; axis++) {
          assertThat((double) out.getAtIndex(ValueLayout.JAVA_FLOAT, 4 * i + axis))
              .isCloseTo(sum[axis], org.assertj.core.api.Assertions.within(1e-3));
        }
      }
    }
  }
}
