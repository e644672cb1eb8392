// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Loads and stores whose addresses grow evenly from thread to thread, which are checked a row at a
 * time: they give what threads checked one by one give, faults included.
 */
class EvenKernelsTest {
  private static final int THREADS = 64;

  private static String kernel(String address, String access) {
    return """
    .version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 out, .param .u64 in, .param .u32 first, .param .u32 limit)
    {
      .reg .pred %%p<4>;
      .reg .b32 %%r<20>;
      .reg .b64 %%rd<20>;
      ld.param.u64 %%rd1, [out];
      ld.param.u64 %%rd2, [in];
      ld.param.u32 %%r1, [first];
      ld.param.u32 %%r2, [limit];
      mov.u32 %%r3, %%tid.x;
      setp.ge.u32 %%p1, %%r3, %%r2;
      @%%p1 bra DONE;
      mul.wide.u32 %%rd3, %%r3, 4;
      add.s64 %%rd4, %%rd1, %%rd3;
      %s
      %s
    DONE:
      ret;
    }
    """
        .formatted(address, access);
  }

  private static final String COPY =
      """
      ld.global.u32 %r10, [%rd9];
      st.global.u32 [%rd4], %r10;
      """;

  /** {@code first + factor * tid} in 32 bits, widened, times 4. */
  private static String index(int factor, String sign) {
    return "mul.lo.s32 %r4, %r3, "
        + factor
        + ";\nadd.s32 %r5, %r4, %r1;\nmul.wide."
        + sign
        + "32 %rd8, %r5, 4;\nadd.s64 %rd9, %rd2, %rd8;\n";
  }

  private static MemorySegment counting(TestGpu gpu, int count) {
    int[] values = new int[count];
    for (int i = 0; i < count; i++) {
      values[i] = 1000 + i;
    }
    return gpu.ints(values);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 0, -1, -3, 100, 1000, -1000})
  void load_withAnySlope_readsEachThreadsElement(int factor) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(factor, "s"), COPY))) {
      int first = factor < 0 ? -factor * (THREADS - 1) : 0;
      MemorySegment in = counting(gpu, Math.abs(factor) * (THREADS - 1) + 1);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      gpu.run("k", TestGpu.blocks(1, THREADS), out, in, first, THREADS);

      for (int i = 0; i < THREADS; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(1000 + first + factor * i);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"s", "u"})
  void index_thatWrapsWithinTheRow_reachesWhereTheWrappedNumberPoints(String sign)
      throws Exception {
    // The index goes 2^31 - 32 ... 2^31 - 1, then -2^31 ... for a signed one: far away.
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(1, sign), COPY))) {
      int first = sign.equals("s") ? Integer.MAX_VALUE - 31 : -32;
      MemorySegment in = counting(gpu, THREADS);
      long before = sign.equals("s") ? first * 4L : Integer.toUnsignedLong(first) * 4L;
      MemorySegment out = gpu.allocate(THREADS * 4L);

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class,
              () ->
                  gpu.run(
                      "k", TestGpu.blocks(1, THREADS), out, in.address() - before, first, THREADS));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
      for (int i = 0; i < 32; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(1000 + i);
      }
      assertThat(out.getAtIndex(ValueLayout.JAVA_INT, 32)).isZero();
    }
  }

  @Test
  void index_timesANegativeNumberWithoutSign_growsByALargeOne() throws Exception {
    String address =
        """
        mul.wide.u32 %rd8, %r3, -4;
        add.s64 %rd9, %rd2, %rd8;
        """;
    try (TestGpu gpu = TestGpu.withPtx(kernel(address, COPY))) {
      MemorySegment in = counting(gpu, THREADS);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class,
              () ->
                  gpu.run(
                      "k",
                      TestGpu.blocks(1, THREADS),
                      out,
                      in.address() + 4 * (THREADS - 1),
                      0,
                      THREADS));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
      assertThat(out.getAtIndex(ValueLayout.JAVA_INT, 0)).isEqualTo(1000 + THREADS - 1);
      assertThat(out.getAtIndex(ValueLayout.JAVA_INT, 1)).isZero();
    }
  }

  @Test
  void row_whoseLastThreadsWouldFault_runsIfAGuardKeepsThemOut() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(128, "s"), COPY))) {
      MemorySegment in = counting(gpu, 128 * 40);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      gpu.run("k", TestGpu.blocks(1, THREADS), out, in, 0, 40);

      for (int i = 0; i < THREADS; i++) {
        int expected = i < 40 ? 1000 + 128 * i : 0;
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(expected);
      }
    }
  }

  @Test
  void row_whoseLastThreadsFault_isIllegalAddressAndTheOthersHaveStored() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(128, "s"), COPY))) {
      MemorySegment in = counting(gpu, 128 * 40);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class,
              () -> gpu.run("k", TestGpu.blocks(1, THREADS), out, in, 0, THREADS));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
      assertThat(fault).hasMessageContaining("line ");
      assertThat(out.getAtIndex(ValueLayout.JAVA_INT, 39)).isEqualTo(1000 + 128 * 39);
    }
  }

  @Test
  void row_acrossAFreedPiece_isIllegalAddress() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(128, "s"), COPY))) {
      MemorySegment in = counting(gpu, 128 * THREADS);
      MemorySegment out = gpu.allocate(THREADS * 4L);
      gpu.free(in.asSlice(128 * 4 * 20, 512));

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class,
              () -> gpu.run("k", TestGpu.blocks(1, THREADS), out, in, 0, THREADS));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
    }
  }

  @Test
  void row_thatBeginsMisaligned_isMisalignedAddress() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(kernel(index(1, "s"), COPY))) {
      MemorySegment in = counting(gpu, THREADS + 1);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class,
              () -> gpu.run("k", TestGpu.blocks(1, THREADS), out, in.address() + 2, 0, THREADS));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.MISALIGNED_ADDRESS);
    }
  }

  @Test
  void address_leftUnsetByAPredicate_isWhatTheKernelComputedElsewhere() throws Exception {
    // The register is only written where a predicate holds, and it holds for no thread that loads.
    String address =
        index(1, "s")
            + """
            setp.ge.u32 %p2, %r3, 1000;
            @%p2 bra FAR;
            bra NEAR;
            FAR:
            add.s64 %rd10, %rd9, 4;
            NEAR:
            """;
    String access =
        """
        @!%p2 bra SKIP;
        ld.global.u32 %r10, [%rd10];
        st.global.u32 [%rd4], %r10;
        SKIP:
        """;
    try (TestGpu gpu = TestGpu.withPtx(kernel(address, access))) {
      MemorySegment in = counting(gpu, THREADS + 1);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      gpu.run("k", TestGpu.blocks(1, THREADS), out, in, 0, THREADS);

      assertThat(out.toArray(ValueLayout.JAVA_INT)).containsOnly(0);
    }
  }

  @Test
  void addresses_onAWayThatLeavesEarly_doNotDisturbThoseOnTheOther() throws Exception {
    String ptx =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in, .param .u64 more, .param .u32 limit)
        {
          .reg .pred %p<4>;
          .reg .b32 %r<20>;
          .reg .b64 %rd<30>;
          ld.param.u64 %rd1, [out];
          ld.param.u64 %rd2, [in];
          ld.param.u64 %rd3, [more];
          ld.param.u32 %r2, [limit];
          mov.u32 %r3, %tid.x;
          mov.u32 %r10, 5;
          setp.lt.s32 %p1, %r2, 1;
          @%p1 bra OUT;
          cvta.to.global.u64 %rd4, %rd2;
          mul.wide.u32 %rd5, %r3, 4;
          add.s64 %rd6, %rd4, %rd5;
          ld.global.u32 %r10, [%rd6];
          cvta.to.global.u64 %rd7, %rd3;
          mov.u32 %r5, 0;
        AGAIN:
          add.s32 %r6, %r5, %r3;
          mul.wide.u32 %rd8, %r6, 4;
          add.s64 %rd9, %rd7, %rd8;
          ld.global.u32 %r7, [%rd9];
          add.s32 %r10, %r10, %r7;
          bar.sync 0;
          add.s32 %r5, %r5, 1;
          setp.lt.s32 %p2, %r5, %r2;
          @%p2 bra AGAIN;
        OUT:
          shl.b32 %r8, %r3, 1;
          cvta.to.global.u64 %rd10, %rd1;
          mul.wide.u32 %rd11, %r8, 2;
          add.s64 %rd12, %rd10, %rd11;
          st.global.u32 [%rd12], %r10;
          ret;
        }
        """;
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      MemorySegment in = counting(gpu, THREADS);
      MemorySegment more = counting(gpu, THREADS + 3);
      MemorySegment out = gpu.allocate(THREADS * 4L);

      gpu.run("k", TestGpu.blocks(1, THREADS), out, in, more, 3);

      for (int i = 0; i < THREADS; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i)).isEqualTo(4000 + 4 * i + 3);
      }
    }
  }

  @Test
  void address_madeAgainBehindABarrier_isMadeOfWhatIsMadeThere() throws Exception {
    String ptx =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 out, .param .u32 rounds)
        {
          .reg .pred %p<2>;
          .reg .b32 %r<6>;
          .reg .b64 %rd<8>;
          ld.param.u64 %rd1, [out];
          ld.param.u32 %r2, [rounds];
          cvta.to.global.u64 %rd2, %rd1;
          mov.u32 %r1, %tid.x;
          mul.wide.u32 %rd3, %r1, 4;
          add.s64 %rd4, %rd2, %rd3;
          mov.u32 %r3, 0;
        AGAIN:
          add.s64 %rd5, %rd4, 4;
          bar.sync 0;
          ld.global.u32 %r4, [%rd5];
          add.s32 %r5, %r4, 1;
          st.global.u32 [%rd5], %r5;
          add.s32 %r3, %r3, 1;
          setp.lt.s32 %p1, %r3, %r2;
          @%p1 bra AGAIN;
          ret;
        }
        """;
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      MemorySegment out = counting(gpu, THREADS + 1);
      int before = out.getAtIndex(ValueLayout.JAVA_INT, 1);

      gpu.run("k", TestGpu.blocks(1, THREADS), out, 3);

      for (int i = 0; i < THREADS; i++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, i + 1)).isEqualTo(before + i + 3);
      }
    }
  }

  @Test
  void rows_ofABlockOfThreeDimensions_areEachCheckedByThemselves() throws Exception {
    String address =
        """
        mov.u32 %r6, %tid.y;
        mov.u32 %r7, %tid.z;
        mov.u32 %r8, %ntid.y;
        mad.lo.s32 %r9, %r7, %r8, %r6;
        mov.u32 %r11, %ntid.x;
        mad.lo.s32 %r12, %r9, %r11, %r3;
        cvt.u64.u32 %rd8, %r12;
        shl.b64 %rd8, %rd8, 2;
        """;
    String access =
        """
        add.s64 %rd11, %rd2, %rd8;
        add.s64 %rd12, %rd1, %rd8;
        ld.global.u32 %r10, [%rd11];
        st.global.u32 [%rd12], %r10;
        """;
    try (TestGpu gpu =
        TestGpu.withPtx(
            kernel(
                address.replace("%rd8, %rd8", "%rd13, %rd8"), access.replace("%rd8", "%rd13")))) {
      int count = 16 * 3 * 2;
      MemorySegment in = counting(gpu, count);
      MemorySegment out = gpu.allocate(count * 4L);

      gpu.run("k", new Launch(new Dim3(1), new Dim3(16, 3, 2), 0, false), out, in, 0, 16);

      assertThat(out.toArray(ValueLayout.JAVA_INT)).isEqualTo(in.toArray(ValueLayout.JAVA_INT));
    }
  }
}
