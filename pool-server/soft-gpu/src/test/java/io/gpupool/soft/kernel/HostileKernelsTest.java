// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.tensor.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Kernels that were written to reach memory of the worker process which is not the device's: each
 * is refused or faults, and what lies there is neither read nor written.
 */
@Timeout(120)
class HostileKernelsTest {
  private static final long SECRET = 0x5EC2_E7ED_0DDB_A115L;
  private static final int SECRET_WORDS = 64;

  private static String kernel(String body) {
    return """
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b) {
      .reg .b64 %o, %x, %y, %z;
      .reg .b32 %t, %m, %r, %s;
      .reg .pred %p;
      .shared .align 16 .b8 sh[128];
      ld.param.u64 %o, [out];
      ld.param.u64 %x, [a];
      ld.param.u64 %z, [b];
    """
        + body
        + "  ret;\n}\n";
  }

  private static void expectRefused(String ptx, String reason) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      assertThatThrownBy(() -> gpu.kernel("k"))
          .cause()
          .isInstanceOf(CompileException.class)
          .hasMessageContaining("line ")
          .hasMessageContaining(reason);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {24, 17, 4096, 1L << 46, -8, Long.MIN_VALUE, Long.MAX_VALUE})
  void loadParam_beyondTheKernelsParameters_isRefused(long offset) throws Exception {
    expectRefused(
        kernel("  ld.param.u64 %y, [out+" + offset + "];\n  st.global.u64 [%o], %y;\n"),
        "outside of the kernel's parameters, of 24 bytes");
  }

  @Test
  void loadParam_vectorAcrossTheEnd_isRefused() throws Exception {
    expectRefused(
        kernel("  ld.param.v2.u64 {%x, %y}, [b];\n  st.global.u64 [%o], %y;\n"),
        "outside of the kernel's parameters");
  }

  @Test
  void loadParam_throughARegisterAcrossTheEnd_faults() throws Exception {
    String body =
        """
          mov.u64 %y, out;
          cvta.param.u64 %y, %y;
          add.u64 %y, %y, %x;
          ld.v2.u64 {%x, %y}, [%y];
          st.global.u64 [%o], %y;
        """;
    try (TestGpu gpu = TestGpu.withPtx(kernel(body))) {
      MemorySegment out = gpu.allocate(64);
      gpu.run("k", TestGpu.blocks(1, 1), out, 0L, 7L);
      assertThat(out.get(ValueLayout.JAVA_LONG, 0)).isZero();
      for (long offset : new long[] {16, 32, 1L << 31, -16}) {
        expectFault(gpu, 1, KernelFaultException.ILLEGAL_ADDRESS, out, offset, 7L);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"[out]", "[out+4096]", "[out+70368744177664]", "[%x]"})
  void storeParam_toTheKernelsParameters_isRefused(String place) throws Exception {
    expectRefused(kernel("  st.param.u64 " + place + ", %x;\n"), "can only be loaded");
  }

  /** A function that calls itself, so that it is not inlined, with some access at its end. */
  private static String recursive(String access) {
    return """
    .version 8.0
    .target sm_90
    .address_size 64
    .func (.param .b64 r) f(.param .b64 n) {
      .reg .b64 %n, %m;
      .reg .pred %p;
      ld.param.b64 %n, [n];
      setp.eq.s64 %p, %n, 0;
      @%p bra DONE;
      sub.s64 %n, %n, 1;
      {
        .param .b64 p0;
        .param .b64 r0;
        st.param.b64 [p0], %n;
        call (r0), f, (p0);
        ld.param.b64 %m, [r0];
      }
    DONE:
    """
        + access
        + """
          ret;
        }
        .visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b) {
          .reg .b64 %o, %x;
          ld.param.u64 %o, [out];
          ld.param.u64 %x, [a];
          {
            .param .b64 p0;
            .param .b64 r0;
            st.param.b64 [p0], %x;
            call (r0), f, (p0);
            ld.param.b64 %x, [r0];
          }
          st.global.u64 [%o], %x;
          ret;
        }
        """;
  }

  @ParameterizedTest
  @ValueSource(longs = {8, 1, 65536, 1L << 46, -8, Long.MIN_VALUE})
  void functionParameter_readOutsideOfIt_isRefused(long offset) throws Exception {
    String access = "  ld.param.b64 %m, [n+" + offset + "];\n  st.param.b64 [r], %m;\n";
    expectRefused(recursive(access), "outside of parameter n");
  }

  @ParameterizedTest
  @ValueSource(longs = {8, 65536, 1L << 46, -8})
  void functionResult_writtenOutsideOfIt_isRefused(long offset) throws Exception {
    expectRefused(recursive("  st.param.b64 [r+" + offset + "], %n;\n"), "outside of parameter r");
  }

  @Test
  void call_withAnArgumentLongerThanTheParameter_isRefused() throws Exception {
    String longer =
        recursive("  st.param.b64 [r], %n;\n")
            .replace("    .param .b64 p0;", "    .param .b8 p0[65536];")
            .replace("st.param.b64 [p0],", "st.param.b64 [p0+65528],");
    expectRefused(longer, "passes p0 of 65536 bytes where the function has a parameter of 8");
  }

  @Test
  void recursion_toTheLastFrame_writesNothingBehindIt() throws Exception {
    String ptx =
        """
        .version 8.0
        .target sm_90
        .address_size 64
        .func f(.param .align 8 .b8 n[32000]) {
          .reg .b64 %n;
          ld.param.b64 %n, [n];
          {
            .param .align 8 .b8 p0[32000];
            st.param.b64 [p0], %n;
            st.param.b64 [p0+31992], %n;
            call f, (p0);
          }
          ret;
        }
        .visible .entry k(.param .u64 a) {
          .reg .b64 %x;
          ld.param.u64 %x, [a];
          {
            .param .align 8 .b8 p0[32000];
            st.param.b64 [p0], %x;
            st.param.b64 [p0+31992], %x;
            call f, (p0);
          }
          ret;
        }
        """;
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      for (int threads : new int[] {16, 64, 1024}) {
        expectFault(gpu, threads, KernelFaultException.LAUNCH_FAILED, SECRET);
      }
    }
  }

  private static void expectFault(TestGpu gpu, int threads, int result, Object... arguments) {
    KernelFaultException fault =
        catchThrowableOfType(
            KernelFaultException.class, () -> gpu.run("k", TestGpu.blocks(1, threads), arguments));

    assertThat(fault).isNotNull();
    assertThat(fault.cudaResult()).as(fault.getMessage()).isEqualTo(result);
  }

  /** Lanes 0 to 7, whose rows count, bring an address to another operation and end. */
  private static String matrixWithoutRows(String matrix) {
    return kernel(
        """
          mov.u32 %t, %tid.x;
          match.any.sync.b64 %m, %x, 0xffffffff;
          setp.lt.u32 %p, %t, 8;
          @%p ret;
          mov.u32 %s, sh;
          cvt.u32.u64 %r, %z;
        """
            + matrix
            + """
              mul.wide.u32 %y, %t, 4;
              add.u64 %o, %o, %y;
              st.global.u32 [%o], %r;
            """);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%s];",
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r}, [%s];",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r, %r, %r, %r}, [%s];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%r};",
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%s], {%r, %r};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r, %r;"
      })
  void matrix_withoutLanesThatHaveEnded_faultsAndTouchesNothing(String matrix) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(matrixWithoutRows(matrix));
        Arena arena = Arena.ofConfined()) {
      MemorySegment secret = arena.allocate(ValueLayout.JAVA_LONG, SECRET_WORDS);
      for (int i = 0; i < SECRET_WORDS; i++) {
        secret.setAtIndex(ValueLayout.JAVA_LONG, i, SECRET);
      }
      MemorySegment out = gpu.allocate(128);

      expectFault(
          gpu,
          32,
          KernelFaultException.ILLEGAL_INSTRUCTION,
          out,
          secret.address() + 128,
          0xDEADBEEFL);

      for (int i = 0; i < SECRET_WORDS; i++) {
        assertThat(secret.getAtIndex(ValueLayout.JAVA_LONG, i)).isEqualTo(SECRET);
      }
      assertThat(out.toArray(ValueLayout.JAVA_INT)).containsOnly(0);
    }
  }

  @Test
  void matrix_inAWarpThatIsNotFull_faults() throws Exception {
    String ptx = matrixWithoutRows("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%s];");
    try (TestGpu gpu =
        TestGpu.withPtx(
            ptx.replace("setp.lt.u32 %p, %t, 8", "setp.lt.u32 %p, %t, 0")
                .replace("match.any.sync.b64 %m, %x, 0xffffffff;", ""))) {
      MemorySegment out = gpu.allocate(128);
      gpu.run("k", TestGpu.blocks(1, 32), out, 0L, 0L);
      expectFault(gpu, 4, KernelFaultException.ILLEGAL_INSTRUCTION, out, 0L, 0L);
      expectFault(gpu, 36, KernelFaultException.ILLEGAL_INSTRUCTION, out, 0L, 0L);
    }
  }

  @Test
  void matrix_withARegisterInPlaceOfAnAddress_isRefused() throws Exception {
    try {
      expectRefused(kernel("  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, %s;\n"), "memory");
    } catch (io.gpupool.soft.ptx.PtxException e) {
      assertThat(e).hasMessageContaining("line ");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ld.global.v2.u32 {%r, %s, %t}, [%o];", "ld.v4.u32 {%r, %s}, [%o];"})
  void vector_withOtherElementsThanItSays_isRefused(String load) throws Exception {
    try {
      expectRefused(kernel("  " + load + "\n  st.global.u32 [%o], %r;\n"), "elements");
    } catch (io.gpupool.soft.ptx.PtxException e) {
      assertThat(e).hasMessageContaining("line ");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 5, 11, 32, -16})
  void asyncCopy_ofAnOddSize_isRefused(int bytes) throws Exception {
    String copy = "  mov.u32 %s, sh;\n  cp.async.ca.shared.global [%s], [%o], " + bytes + ";\n";
    expectRefused(kernel(copy), "not 4, 8 or 16");
  }

  /** Bytes of a tensor map that say where its tensor lies and how long it is are damaged. */
  @Test
  void tensorMap_damagedAtRandom_reachesNothingElse() throws Exception {
    String body =
        """
          mov.u32 %s, sh;
          cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%x, {%t, %t}], [%s];
          cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%x, {%t, %t}], [%s];
          .shared .align 8 .b64 barrier;
          mov.u32 %r, barrier;
          mbarrier.init.shared.b64 [%r], 1;
          cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%x, {%t, %t}], [%r];
          ld.shared.u64 %y, [%s];
          st.global.u64 [%o], %y;
        """;
    Random random = new Random(1);
    int faults = 0;
    try (TestGpu gpu = TestGpu.withPtx(kernel("  cvt.u32.u64 %t, %z;\n" + body), 1 << 20)) {
      MemorySegment out = gpu.allocate(512);
      MemorySegment tensor = gpu.allocate(512);
      MemorySegment map = gpu.allocate(128);
      long guard = gpu.guards().getLast().address();
      for (int i = 0; i < 400; i++) {
        tensorMap(tensor.address()).write(map);
        switch (random.nextInt(4)) {
          case 0 -> map.set(ValueLayout.JAVA_LONG, 8L * random.nextInt(16), guard);
          case 1 -> map.set(ValueLayout.JAVA_LONG, 8L * random.nextInt(16), random.nextLong());
          default -> map.set(ValueLayout.JAVA_BYTE, random.nextInt(128), (byte) random.nextInt());
        }
        long at = random.nextInt(8) == 0 ? random.nextLong() : random.nextInt(5) - 1;
        try {
          gpu.run("k", TestGpu.blocks(1, 1), out, map.address(), at);
        } catch (KernelFaultException e) {
          faults++;
        }
        expectWhole(gpu);
        assertThat(out.toArray(ValueLayout.JAVA_BYTE)).doesNotContain(TestGpu.GUARD);
      }
    }
    assertThat(faults).isBetween(20, 380);
  }

  private static TensorMap tensorMap(long address) {
    TensorMap.Shape tensor = new TensorMap.Shape(new long[] {8, 4}, new long[] {32});
    TensorMap.Box box = new TensorMap.Box(new int[] {4, 2}, new int[] {1, 1});
    return TensorMap.of(new TensorMap.Tiled(2, address, tensor, box, 0, 0, 0, 0));
  }

  private static void expectWhole(TestGpu gpu) {
    for (MemorySegment guard : gpu.guards()) {
      byte[] bytes = guard.toArray(ValueLayout.JAVA_BYTE);
      for (byte b : bytes) {
        if (b != TestGpu.GUARD) {
          throw new AssertionError("memory beside the device's was written");
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ".param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], %x;"
            + " st.param.b64 [p1], %z; call (r0), vprintf, (p0, p1);",
        ".param .b64 p0; st.param.b64 [p0], %x; call free, (p0);",
        ".param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;"
            + " st.param.b64 [p0], %x; st.param.b64 [p1], %z; st.param.b32 [p2], 1;"
            + " st.param.b64 [p3], %x; st.param.b64 [p4], 1;"
            + " call __assertfail, (p0, p1, p2, p3, p4);"
      })
  void libraryCall_withHostilePointers_faultsAndPrintsNothingOfTheProcess(String call)
      throws Exception {
    String head =
        """
        .version 8.0
        .target sm_90
        .address_size 64
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .extern .func free(.param .b64 p);
        .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
        """;
    String body = kernel("  {" + call + "}\n").lines().skip(3).collect(Collectors.joining("\n"));
    try (TestGpu gpu = TestGpu.withPtx(head + body, 1 << 20)) {
      long below = gpu.guards().getFirst().address() + 4096;
      long above = gpu.guards().getLast().address();
      MemorySegment text = gpu.allocate(512).fill((byte) 's');
      text.setString(0, "%s%d%*.*f");
      for (long pointer : new long[] {below, above, 1, -1, Long.MIN_VALUE, text.address() + 2048}) {
        expectFault(gpu, 1, KernelFaultException.ILLEGAL_ADDRESS, 0L, pointer, pointer);
      }
      if (call.contains("vprintf")) {
        for (long arguments : new long[] {below, above - 4, 0, -8}) {
          expectFault(gpu, 1, KernelFaultException.ILLEGAL_ADDRESS, 0L, text.address(), arguments);
        }
      }
      assertThat(gpu.printed()).doesNotContain(String.valueOf((char) (TestGpu.GUARD & 255)));
    }
  }
}
