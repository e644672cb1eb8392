// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random kernels that were made wrong are refused with line and column, or are valid still; {@code
 * -Dgpupool.fuzz.broken=N} tries more of them, {@code -Dgpupool.fuzz.seed=N} others.
 */
class BrokenKernelTest {
  private static final int KERNELS = Integer.getInteger("gpupool.fuzz.broken", 40);
  private static final long FIRST = Long.getLong("gpupool.fuzz.seed", 1);
  private static final int VERSIONS = 25;

  private int refused;
  private int uncompiled;
  private int valid;

  @Test
  @Timeout(3600)
  void brokenKernel_isRefusedWithAPlace_orCompiles() {
    for (long seed = FIRST; seed < FIRST + KERNELS; seed++) {
      String text = Program.PREAMBLE + KernelGenerator.generate(seed).text();
      Damage damage = new Damage(new Grammar(new Random(seed)));
      for (int i = 0; i < VERSIONS; i++) {
        tryOut("version %d of kernel %d".formatted(i, seed), damage.damaged(text));
      }
    }
    int all = KERNELS * VERSIONS;
    assertThat(refused).as("refused by the parser").isGreaterThan(all / 10);
    assertThat(uncompiled).as("refused by the compiler").isGreaterThan(all / 100);
    assertThat(valid).as("valid still").isGreaterThan(all / 100);
  }

  private void tryOut(String what, String text) {
    try {
      PtxModule module = PtxModule.parse(text, 90);
      Map<String, Long> addresses = new HashMap<>();
      module.globals().forEach(global -> addresses.put(global.name(), 1L << 45));
      for (var kernel : module.kernels()) {
        KernelCompiler.compile(module, kernel.name(), addresses);
      }
      valid++;
    } catch (PtxException e) {
      refused++;
      assertThat(e.line()).as(what).isBetween(1, text.split("\n", -1).length + 1);
      assertThat(e.column()).as(what).isPositive();
      assertThat(e.getMessage()).contains("line " + e.line() + ", column " + e.column());
    } catch (CompileException e) {
      uncompiled++;
      assertThat(e.getMessage()).as(what).matches("kernel \\S+: line [0-9]+, column [0-9]+: .*");
    } catch (RuntimeException | Error e) {
      throw new AssertionError(what + ":\n" + text, e);
    }
  }
}
