// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.ptx.PtxModule;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the parser lets pass and no code can be made of is refused with its place. */
class RefusalTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "and.f32 %r0, %r0, 3;",
        "st.global.u8 %r0, %r1;",
        "cvt.f32 %r0, %r1;",
        "setp.u32 %p0, %r0, %r1;",
        "mma.sync.aligned.m16n8k8.row.col.f32 %r0, %r1;"
      })
  void instruction_thatFitsNoForm_isRefusedWithLineAndColumn(String instruction) throws Exception {
    PtxModule module =
        PtxModule.parse(
            """
            .version 8.6
            .target sm_90
            .address_size 64
            .visible .entry k()
            {
              .reg .pred %%p<2>;
              .reg .b32 %%r<3>;
              .reg .b64 %%x<2>;
              %s
              ret;
            }
            """
                .formatted(instruction),
            90);

    CompileException refused =
        catchThrowableOfType(
            CompileException.class, () -> KernelCompiler.compile(module, "k", Map.of()));

    assertThat(refused).hasMessageStartingWith("kernel k: line 9, column 3: ");
  }
}
