// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Instructions that say less in old versions of PTX than they must in new ones. */
class LegacyFormsTest {
  private static final float SUBNORMAL = 0x1p-130f;

  private static final float[] NUMBERS = {
    1, -2, 0.1f, 3, 0.75f, 1e30f, -1e-30f, SUBNORMAL, -SUBNORMAL, 0, 1e-38f, 0x1.000002p0f
  };

  /**
   * An instruction in an old version and what it means today.
   *
   * @param target of the old version
   */
  private record Case(String version, String target, String old, String today) {}

  private static Stream<Case> cases() {
    return Stream.of(
        new Case("1.3", "sm_13", "div.f32 %f3, %f1, %f2", "div.approx.ftz.f32 %f3, %f1, %f2"),
        new Case("1.0", "sm_10", "rcp.f32 %f3, %f1", "rcp.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "sqrt.f32 %f3, %f1", "sqrt.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "rsqrt.f32 %f3, %f1", "rsqrt.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "sin.f32 %f3, %f1", "sin.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "cos.f32 %f3, %f1", "cos.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "lg2.f32 %f3, %f1", "lg2.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "ex2.f32 %f3, %f1", "ex2.approx.ftz.f32 %f3, %f1"),
        new Case("1.3", "sm_13", "div.f64 %d3, %d1, %d2", "div.rn.f64 %d3, %d1, %d2"),
        new Case("1.3", "sm_13", "rcp.f64 %d3, %d1", "rcp.rn.f64 %d3, %d1"),
        new Case("1.3", "sm_13", "sqrt.f64 %d3, %d1", "sqrt.rn.f64 %d3, %d1"),
        new Case("1.3", "sm_13", "rsqrt.f64 %d3, %d1", "rsqrt.approx.f64 %d3, %d1"),
        new Case("1.3", "sm_13", "mad.f64 %d3, %d1, %d2, %d1", "mad.rn.f64 %d3, %d1, %d2, %d1"),
        new Case("1.4", "sm_10, map_f64_to_f32", "mul.f64 %d3, %d1, %d2", "mul.f64 %d3, %d1, %d2"),
        new Case("1.4", "sm_10", "mad.f32 %f3, %f1, %f2, %f1", "fma.rn.ftz.f32 %f3, %f1, %f2, %f1"),
        new Case(
            "1.3",
            "sm_11",
            "mad.sat.f32 %f3, %f1, %f2, %f1",
            "fma.rn.ftz.sat.f32 %f3, %f1, %f2, %f1"),
        new Case("3.1", "sm_20", "mad.f32 %f3, %f1, %f2, %f1", "fma.rn.f32 %f3, %f1, %f2, %f1"),
        new Case(
            "2.0", "sm_20", "mad.ftz.f32 %f3, %f1, %f2, %f1", "fma.rn.ftz.f32 %f3, %f1, %f2, %f1"),
        new Case("1.4", "sm_10", "add.f32 %f3, %f1, %f2", "add.ftz.f32 %f3, %f1, %f2"),
        new Case("2.0", "sm_20", "add.f32 %f3, %f1, %f2", "add.f32 %f3, %f1, %f2"),
        new Case("1.4", "sm_13", "mul.rz.f32 %f3, %f1, %f2", "mul.rz.ftz.f32 %f3, %f1, %f2"),
        new Case("1.4", "sm_13", "neg.f32 %f3, %f1", "neg.ftz.f32 %f3, %f1"),
        new Case("1.4", "sm_13", "cvt.f64.f32 %d3, %f1", "cvt.f64.f32 %d3, %f1"),
        new Case("1.5", "sm_13", "cvt.f64.f32 %d3, %f1", "cvt.ftz.f64.f32 %d3, %f1"),
        new Case("1.4", "sm_13", "cvt.rn.f32.f64 %f3, %d1", "cvt.rn.f32.f64 %f3, %d1"),
        new Case("1.4", "sm_13", "cvt.rpi.f32.f32 %f3, %f1", "cvt.rpi.ftz.f32.f32 %f3, %f1"));
  }

  @TestFactory
  Stream<DynamicTest> oldForm_overEdgeValues_isWhatTheManualSaysItMeans() {
    return cases()
        .map(some ->
            DynamicTest.dynamicTest(
                some.version + " " + some.target + " " + some.old,
                () ->
                    assertThat(run(some.version, some.target, some.old))
                        .containsExactly(run("9.0", "sm_90", some.today))));
  }

  @Test
  void madOfSubnormals_forAnOldTarget_isZeroAndForANewerOneIsNot() throws Exception {
    String mad = "mad.f32 %f3, %f1, 0f3F800000, 0f00000000";
    int subnormal = 7;

    assertThat(Float.intBitsToFloat((int) run("1.4", "sm_10", mad)[subnormal])).isZero();
    assertThat(Float.intBitsToFloat((int) run("3.1", "sm_20", mad)[subnormal]))
        .isEqualTo(SUBNORMAL);
  }

  @Test
  void formsWithoutRounding_inNewPtx_areRefused() {
    for (String form : new String[] {"mad.f32 %f3, %f1, %f2, %f1", "sqrt.f32 %f3, %f1"}) {
      assertThatThrownBy(() -> run("3.2", "sm_20", form))
          .hasStackTraceContaining(form.split(" ")[0] + " is not supported");
    }
  }

  /** Bits of the single- or double-precision result for each number. */
  private static long[] run(String version, String target, String instruction) throws Exception {
    boolean wide = instruction.contains(" %d3");
    String ptx =
        """
        .version %s
        .target %s
        .entry kernel(.param .u64 in, .param .u64 out)
        {
          .reg .u32 %%r;
          .reg .u64 %%a, %%b, %%o;
          .reg .f32 %%f1, %%f2, %%f3;
          .reg .f64 %%d1, %%d2, %%d3;
          cvt.u32.u16 %%r, %%tid.x;
          mul.wide.u32 %%o, %%r, 8;
          ld.param.u64 %%a, [in];
          add.u64 %%a, %%a, %%o;
          ld.param.u64 %%b, [out];
          add.u64 %%b, %%b, %%o;
          ld.global.f32 %%f1, [%%a];
          ld.global.f32 %%f2, [%%a+4];
          cvt.f64.f32 %%d1, %%f1;
          cvt.f64.f32 %%d2, %%f2;
          mul.f64 %%d1, %%d1, 0d3FF0000000000001;
          %s;
          %s
          exit;
        }
        """
            .formatted(
                version,
                target,
                instruction,
                wide ? "st.global.f64 [%b], %d3;" : "st.global.f32 [%b], %f3;");
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      float[] pairs = new float[2 * NUMBERS.length];
      for (int i = 0; i < NUMBERS.length; i++) {
        pairs[2 * i] = NUMBERS[i];
        pairs[2 * i + 1] = NUMBERS[(i + 4) % NUMBERS.length];
      }
      MemorySegment out = gpu.longs(new long[NUMBERS.length]);
      gpu.run("kernel", TestGpu.blocks(1, NUMBERS.length), gpu.floats(pairs), out);
      return out.toArray(ValueLayout.JAVA_LONG);
    }
  }
}
