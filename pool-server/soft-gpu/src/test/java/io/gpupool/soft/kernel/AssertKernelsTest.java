// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.exec.launch.KernelFaultException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Assertions that fail: each thread of the block tells of its own, then the grid stops. */
@Timeout(60)
class AssertKernelsTest {
  private static final Pattern MESSAGE =
      Pattern.compile(
          "x:7: x: block: \\[0,0,0\\], thread: \\[(\\d+),0,0\\] Assertion `x` failed.\n");

  /** Threads from the limit on fail between what comes before and what others do after. */
  private static String kernel(String before, String after) {
    return """
    .version 7.0
    .target sm_75
    .address_size 64
    .extern .func __assertfail
      (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
    .global .align 1 .b8 x[2] = {120, 0};
    .visible .entry k(.param .u64 out, .param .u32 limit)
    {
      .reg .pred %%p<2>;
      .reg .b32 %%r<3>;
      .reg .b64 %%rd<3>;
      ld.param.u64 %%rd0, [out];
      ld.param.u32 %%r0, [limit];
      mov.u32 %%r1, %%tid.x;
      %s
      setp.lt.u32 %%p0, %%r1, %%r0;
      @%%p0 bra holds;
      mov.u64 %%rd1, x;
      cvta.global.u64 %%rd1, %%rd1;
      {
        .param .b64 m;
        .param .b64 f;
        .param .b32 l;
        .param .b64 n;
        .param .b64 s;
        st.param.b64 [m], %%rd1;
        st.param.b64 [f], %%rd1;
        st.param.b32 [l], 7;
        st.param.b64 [n], %%rd1;
        st.param.b64 [s], 1;
        call.uni __assertfail, (m, f, l, n, s);
      }
      st.global.u32 [%%rd0], 99;
    holds:
      %s
      ret;
    }
    """
        .formatted(before, after);
  }

  /** Runs 64 threads; returns what is stored in the end. */
  private static int fails(String ptx, int limit, String... threads) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      MemorySegment out = gpu.allocate(4);
      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class, () -> gpu.run("k", TestGpu.blocks(1, 64), out, limit));

      assertThat(fault.cudaResult()).as(fault.getMessage()).isEqualTo(KernelFaultException.ASSERT);
      assertThat(fault.place().orElseThrow().thread()).isEqualTo(threads[0] + ",0,0");
      assertThat(MESSAGE.matcher(gpu.printed()).replaceAll("")).isEmpty();
      assertThat(MESSAGE.matcher(gpu.printed()).results().map(AssertKernelsTest::thread))
          .containsExactly(threads);
      return out.get(ValueLayout.JAVA_INT, 0);
    }
  }

  private static String thread(MatchResult message) {
    return message.group(1);
  }

  @Test
  void threads_thatFail_allSayIt_andEndThere() throws Exception {
    int stored = fails(kernel("", "st.global.u32 [%rd0], %r1;"), 60, "60", "61", "62", "63");

    assertThat(stored).isEqualTo(59);
  }

  @Test
  void threads_thatFailBehindABarrier_allSayIt_andNoneComesToTheNext() throws Exception {
    String after = "bar.sync 0;\n st.global.u32 [%rd0], %r1;";

    assertThat(fails(kernel("bar.sync 0;", after), 61, "61", "62", "63")).isZero();
  }

  @Test
  void threads_thatWaitForOneThatFailed_areStopped() throws Exception {
    String waiting = "again:\n ld.volatile.global.u32 %r2, [%rd0];\n setp.eq.u32 %p1, %r2, 0;\n";

    assertThat(fails(kernel("", waiting + "@%p1 bra again;"), 62, "62", "63")).isZero();
  }

  @Test
  void threads_thatLoopForever_areStopped() throws Exception {
    String endless = "setp.eq.u32 %p1, %r1, 63;\n again: @%p1 bra again;";
    String failing = "sub.u32 %r1, 63, %r1;\n";

    // Turned round, since the threads run in their order: the first one fails.
    assertThat(fails(kernel(failing, "sub.u32 %r1, 63, %r1;\n" + endless), 63, "0")).isZero();
  }

  @Test
  void faultOfAnotherThread_afterAFailure_isNotReported() throws Exception {
    String turned = "sub.u32 %r1, 63, %r1;\n";

    fails(kernel(turned, "st.global.u32 [4], 1;"), 63, "0");
  }
}
