// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Switches, calls, structures, module variables, generic addresses, special registers. */
class ControlKernelsTest {
  @Test
  void classify_switch_takesEveryCase() throws Exception {
    try (TestGpu gpu = TestGpu.load("control")) {
      int[] in = new int[64];
      Arrays.setAll(in, i -> i % 12 - 1);
      MemorySegment out = gpu.allocate(64 * 4);

      gpu.run("classify", TestGpu.blocks(2, 32), gpu.ints(in), out, 64);

      for (int i = 0; i < 64; i++) {
        int v = in[i];
        int expected =
            switch (v) {
              case 0 -> 17;
              case 1 -> -2;
              case 2 -> in[(i + 1) % 64];
              case 3 -> 3 ^ 0x55;
              case 4 -> -4;
              case 5 -> Integer.bitCount(i);
              case 6 -> i / 3;
              case 7 -> i % 7;
              case 8 -> -i;
              default -> v < 0 ? -1 : 99;
            };
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).as("case %d", v).isEqualTo(expected);
      }
    }
  }

  @Test
  void structure_byValue_isChangedInTheCopyOnly() throws Exception {
    try (TestGpu gpu = TestGpu.load("control")) {
      // char kind; double size; short corner[3]; float2 scale
      ByteBuffer shape = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
      shape.put(0, (byte) 65).putDouble(8, 2.5);
      shape.putShort(16, (short) 1).putShort(18, (short) -2).putShort(20, (short) 3);
      shape.putFloat(24, 0.5f).putFloat(28, 9);
      MemorySegment out = gpu.allocate(32 * 2);

      gpu.run("structure", TestGpu.blocks(1, 2), shape.array(), out, 1);

      for (int t = 0; t < 2; t++) {
        ByteBuffer result = out.asSlice(32 * t, 32).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        assertThat(result.get(0)).isEqualTo((byte) 66);
        assertThat(result.getDouble(8)).isEqualTo(5);
        assertThat(result.getShort(16)).isEqualTo((short) 1);
        assertThat(result.getShort(18)).isEqualTo((short) -7);
        assertThat(result.getShort(20)).isEqualTo((short) 3);
        assertThat(result.getFloat(24)).isEqualTo(0.5f);
        assertThat(result.getFloat(28)).isEqualTo(-1.5f);
      }
    }
  }

  @Test
  void calls_functionsNotInlinedByNvcc_passStructsArraysAndShuffle() throws Exception {
    try (TestGpu gpu = TestGpu.load("control")) {
      MemorySegment pairs = gpu.allocate(64 * 16);
      MemorySegment polynomials = gpu.allocate(64 * 4);
      MemorySegment maxima = gpu.allocate(64 * 4);

      gpu.run("calls", TestGpu.blocks(1, 64), pairs, polynomials, maxima);

      for (int t = 0; t < 64; t++) {
        ByteBuffer pair = pairs.asSlice(16 * t, 16).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        assertThat(pair.getLong(0)).isEqualTo((long) t * t);
        assertThat(pair.getFloat(8)).isEqualTo(t * 0.5f);
        assertThat(pair.get(12)).isEqualTo((byte) t);
        float polynomial = 0;
        for (int i = t % 5; i >= 0; i--) {
          polynomial = polynomial * 0.5f + t + i;
        }
        assertThat(polynomials.getAtIndex(ValueLayout.JAVA_FLOAT, t)).isEqualTo(polynomial);
        int max = 0;
        for (int lane = t / 32 * 32; lane < t / 32 * 32 + 32; lane++) {
          max = Math.max(max, lane * 37 % 101);
        }
        assertThat(maxima.getAtIndex(ValueLayout.JAVA_INT, t)).isEqualTo(max);
      }
    }
  }

  @Test
  void loops_nestedWithContinueAndBreak_matchJava() throws Exception {
    try (TestGpu gpu = TestGpu.load("control")) {
      int n = 100;
      MemorySegment out = gpu.allocate(n * 4);

      gpu.run("loops", TestGpu.blocks(2, 64), out, n);

      for (int i = 0; i < n; i++) {
        int total = 0;
        for (int a = 1; a <= 3; a++) {
          for (int b = 0; b < i % 4; b++) {
            total += a * b % 5 == 3 ? 0 : collatz(i + a * b + 1);
          }
        }
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(total);
      }
    }
  }

  private static int collatz(int start) {
    int steps = 0;
    for (long n = start; n != 1; steps++) {
      n = n % 2 == 1 ? 3 * n + 1 : n / 2;
    }
    return steps;
  }

  @Test
  void walk_moduleVariables_haveTheirInitialValuesAndAddresses() throws Exception {
    try (TestGpu gpu = TestGpu.load("globals")) {
      MemorySegment out = gpu.allocate(32 * 4);

      gpu.run("walk", TestGpu.blocks(1, 1), out);

      assertThat(Arrays.copyOf(out.toArray(ValueLayout.JAVA_INT), 16))
          .containsExactly(10, 20, 30, 1, -2, 3, -4, 5, -6, 'p', 'o', 'o', 'l', 'e', 'd', 0);
      assertThat(gpu.global("counter", 8).get(ValueLayout.JAVA_DOUBLE, 0)).isEqualTo(2.5);
      assertThat(gpu.global("managed", 4).get(ValueLayout.JAVA_INT, 0)).isEqualTo(78);
    }
  }

  @Test
  void spaces_genericPointers_reachGlobalSharedAndLocal() throws Exception {
    try (TestGpu gpu = TestGpu.load("generic")) {
      MemorySegment out = gpu.allocate(33 * 4);

      gpu.run("spaces", TestGpu.blocks(1, 33), gpu.ints(1, 2, 3, 4), out);

      for (int t = 0; t < 33; t++) {
        int expected =
            switch (t % 3) {
              case 0 -> 10 * 8 + 1;
              case 1 -> 46 * 8 + 2;
              default -> 6 * (t + 1) * 8 + 4;
            };
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, t)).isEqualTo(expected);
      }
    }
  }

  @Test
  void registers_special_haveTheirValues() throws Exception {
    try (TestGpu gpu = TestGpu.load("generic")) {
      MemorySegment out = gpu.allocate(2 * 70 * 32);

      gpu.run("registers", TestGpu.blocks(2, 70), out);

      for (int i = 0; i < 140; i++) {
        int t = i % 70;
        int lane = t % 32;
        assertThat(out.asSlice(32L * i, 32).toArray(ValueLayout.JAVA_INT))
            .containsExactly(lane, t / 32, 2070, (1 << lane) - 1, -(1 << lane), 1, 32, 1);
      }
    }
  }

  @Test
  void asyncCopy_toShared_isThereAfterTheWait() throws Exception {
    try (TestGpu gpu = TestGpu.load("generic")) {
      float[] in = new float[256];
      for (int i = 0; i < in.length; i++) {
        in[i] = i;
      }
      MemorySegment out = gpu.allocate(1024);

      gpu.run("asyncCopy", TestGpu.blocks(1, 64), gpu.floats(in), out);

      for (int i = 0; i < 256; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isEqualTo((63 - i / 4) * 4 + i % 4);
      }
    }
  }
}
