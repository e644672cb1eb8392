// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.exec.launch.KernelFaultException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Recursive, indirect and virtual calls. */
class CallKernelsTest {
  @Test
  void recursive_fibonacci_returnsThroughManyFrames() throws Exception {
    try (TestGpu gpu = TestGpu.load("recursion")) {
      MemorySegment out = gpu.allocate(18 * 4);

      gpu.run("recursive", TestGpu.blocks(1, 18), out);

      int a = 0;
      int b = 1;
      for (int i = 0; i < 18; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(a);
        int sum = a + b;
        a = b;
        b = sum;
      }
    }
  }

  @Test
  void indirect_functionTable_callsTheRightFunction() throws Exception {
    try (TestGpu gpu = TestGpu.load("recursion")) {
      MemorySegment out = gpu.allocate(32 * 4);

      gpu.run("indirect", TestGpu.blocks(1, 32), out, 30);

      for (int i = 0; i < 32; i++) {
        float expected = i >= 30 ? 0 : i % 3 == 0 ? i + 2 : i % 3 == 1 ? i * 2 : 2 - i;
        assertThat(out.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isEqualTo(expected);
      }
    }
  }

  @Test
  void virtualCalls_objectsInLocalMemory_dispatch() throws Exception {
    try (TestGpu gpu = TestGpu.load("recursion")) {
      MemorySegment out = gpu.allocate(32 * 4);

      gpu.run("virtualCalls", TestGpu.blocks(1, 32), out);

      for (int i = 0; i < 32; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i))
            .isEqualTo(i % 2 == 1 ? 10 + i : (10 + i) * i);
      }
    }
  }

  @Test
  void call_throughACorruptPointer_isInvalidProgramCounter() throws Exception {
    try (TestGpu gpu =
        TestGpu.withPtx(
            """
            .version 8.0
            .target sm_75
            .address_size 64
            .func (.param .b32 r) f(.param .b32 a) { st.param.b32 [r], 1; ret; }
            .visible .entry k(.param .u64 p) {
              .reg .b64 %rd<3>;
              .reg .b32 %r<2>;
              ld.param.u64 %rd1, [p];
              mov.u64 %rd2, f;
              { .param .b32 a; .param .b32 r;
                st.param.b32 [a], %r1;
                sig: .callprototype (.param .b32 _) _ (.param .b32 _);
                call (r), %rd1, (a), sig;
              }
              ret;
            }
            """)) {
      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class, () -> gpu.run("k", TestGpu.blocks(1, 1), 0x1234L));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.INVALID_PC);
    }
  }

  @Test
  void call_endlessRecursion_isToldAsStackOverflow() throws Exception {
    try (TestGpu gpu =
        TestGpu.withPtx(
            """
            .version 8.0
            .target sm_75
            .address_size 64
            .func f() { call f; ret; }
            .visible .entry k() { call f; ret; }
            """)) {
      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class, () -> gpu.run("k", TestGpu.blocks(1, 4)));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.LAUNCH_FAILED);
      assertThat(fault).hasMessageContaining("stack overflow");
    }
  }
}
