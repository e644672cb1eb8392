// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Element-wise kernels, as nvcc compiles them, against the same sums in Java. */
class VectorKernelsTest {
  private static float[] randomFloats(int n, long seed) {
    Random random = new Random(seed);
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = random.nextFloat() * 200 - 100;
    }
    return values;
  }

  @Test
  void add_lengthNotMultipleOfBlock_addsEveryElementAndNoMore() throws Exception {
    try (TestGpu gpu = TestGpu.load("vectors")) {
      int n = 10_007;
      float[] a = randomFloats(n, 1);
      float[] b = randomFloats(n, 2);
      MemorySegment c = gpu.allocate((n + 100) * 4L);

      gpu.run("add", TestGpu.blocks(40, 256), gpu.floats(a), gpu.floats(b), c, n);

      for (int i = 0; i < n; i++) {
        assertThat(c.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isEqualTo(a[i] + b[i]);
      }
      assertThat(c.getAtIndex(ValueLayout.JAVA_FLOAT, n)).isZero();
    }
  }

  @Test
  void saxpy_gridStride_fusesMultiplyAndAdd() throws Exception {
    try (TestGpu gpu = TestGpu.load("vectors")) {
      int n = 5_000;
      float[] x = randomFloats(n, 3);
      float[] y = randomFloats(n, 4);
      MemorySegment result = gpu.floats(y);

      gpu.run("saxpy", TestGpu.blocks(3, 128), 1.7f, gpu.floats(x), result, (long) n);

      for (int i = 0; i < n; i++) {
        assertThat(result.getAtIndex(ValueLayout.JAVA_FLOAT, i))
            .isEqualTo(Math.fma(1.7f, x[i], y[i]));
      }
    }
  }

  @Test
  void scale4_vectorLoads_keepElementsApart() throws Exception {
    try (TestGpu gpu = TestGpu.load("vectors")) {
      int n = 100;
      float[] in = randomFloats(4 * n, 5);
      MemorySegment out = gpu.allocate(16L * n);

      gpu.run("scale4", TestGpu.blocks(1, 128), gpu.floats(in), out, 3.0f, n);

      for (int i = 0; i < n; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, 4 * i)).isEqualTo(in[4 * i] * 3);
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, 4 * i + 1)).isEqualTo(in[4 * i + 1] + 3);
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, 4 * i + 2)).isEqualTo(in[4 * i + 2] - 3);
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, 4 * i + 3)).isEqualTo(in[4 * i + 3] / 3);
      }
    }
  }

  @Test
  void index3d_structParameterAndThreeDimensions_coversTheVolume() throws Exception {
    try (TestGpu gpu = TestGpu.load("vectors")) {
      int sx = 13;
      int sy = 9;
      int sz = 5;
      MemorySegment out = gpu.allocate(4L * sx * sy * sz);
      byte[] size =
          ByteBuffer.allocate(12)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(sx)
              .putInt(sy)
              .putInt(sz)
              .array();

      gpu.run("index3d", new Launch(new Dim3(4, 3, 3), new Dim3(4, 3, 2), 0, false), out, size);

      for (int z = 0; z < sz; z++) {
        for (int y = 0; y < sy; y++) {
          for (int x = 0; x < sx; x++) {
            assertThat(out.getAtIndex(ValueLayout.JAVA_INT, (z * sy + y) * sx + x))
                .isEqualTo(x + 100 * y + 10_000 * z + 1_000_000 * (y % 3 % 7));
          }
        }
      }
    }
  }
}
