// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.kernel.TestGpu;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** What random kernels have found, each as the least kernel that shows it. */
class FindingsTest {
  /** Runs statements that leave a result in {@code %r0} in one thread. */
  private static int result(String statements) throws Exception {
    String ptx =
        """
        .version 8.6
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 out)
        {
          .reg .pred %p<2>;
          .reg .b16 %h<3>;
          .reg .b32 %r<4>;
          .reg .b64 %x<1>;
          ld.param.u64 %x0, [out];
        STATEMENTS
          st.global.u32 [%x0], %r0;
          ret;
        }
        """
            .replace("STATEMENTS", statements);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment out = gpu.ints(0);
      gpu.run("k", TestGpu.blocks(1, 1), out);
      return out.get(ValueLayout.JAVA_INT, 0);
    }
  }

  @Test
  void setp_subnormalHalvesFlushed_areEqualToZero() throws Exception {
    assertThat(
            result(
                """
                mov.b16 %h0, 0x0001;
                mov.b16 %h1, 0;
                setp.gt.ftz.f16 %p0, %h0, %h1;
                setp.gt.f16 %p1, %h0, %h1;
                selp.b32 %r0, 1, 0, %p0;
                selp.b32 %r1, 2, 0, %p1;
                or.b32 %r0, %r0, %r1;
                """))
        .isEqualTo(2);
  }
}
