// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
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
    PtxModule module = kernelOf(instruction);

    CompileException refused =
        catchThrowableOfType(
            CompileException.class, () -> KernelCompiler.compile(module, "k", Map.of()));

    assertThat(refused).hasMessageStartingWith("kernel k: line 10, column 3: ");
  }

  @Test
  void complementOfANumber_whichTheJvmRefuses_isRefusedWithTheKernelAndNotKept() throws Exception {
    PtxModule module = kernelOf("and.pred %p0, !%f0, %p1;");
    MapStore store = new MapStore();

    for (KernelCache cache : List.of(KernelCache.NONE, KernelCache.on(store))) {
      CompileException refused =
          catchThrowableOfType(CompileException.class, () -> cache.compile(module, "k", Map.of()));

      assertThat(refused)
          .hasMessage("kernel k: line 4, column 1: mixes operands of different types");
    }
    assertThat(store.entries()).isEmpty();
  }

  @Test
  void complementOfALongNumber_whichTheClassFileApiRefuses_isRefusedAsWhatItIs() throws Exception {
    PtxModule module = kernelOf("or.pred %p0, !%x0, %p1;");

    CompileException refused =
        catchThrowableOfType(
            CompileException.class, () -> KernelCompiler.compile(module, "k", Map.of()));

    assertThat(refused).hasMessage("kernel k: line 4, column 1: mixes operands of different types");
  }

  private static PtxModule kernelOf(String instruction) throws PtxException {
    return PtxModule.parse(
        """
        .version 8.6
        .target sm_90
        .address_size 64
        .visible .entry k()
        {
          .reg .pred %%p<2>;
          .reg .b32 %%r<3>;
          .reg .f32 %%f<2>;
          .reg .b64 %%x<2>;
          %s
          ret;
        }
        """
            .formatted(instruction),
        90);
  }
}
