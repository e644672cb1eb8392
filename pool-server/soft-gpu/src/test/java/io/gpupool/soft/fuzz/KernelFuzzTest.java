// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.fuzz.Trial.Difference;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Random kernels leave the same in memory, bit for bit, whether they are compiled or interpreted.
 * {@code -Dgpupool.fuzz.kernels=10000} tries more of them, {@code -Dgpupool.fuzz.seed=N} others.
 */
class KernelFuzzTest {
  private static final int KERNELS = Integer.getInteger("gpupool.fuzz.kernels", 300);
  private static final long FIRST = Long.getLong("gpupool.fuzz.seed", 1);
  private static final int KERNELS_PER_MODULE = 20;

  @Test
  void randomKernels_compiledAndInterpreted_leaveTheSameInMemory() throws Exception {
    // Each fourth module is compiled to JVM methods as small as can be.
    Trial whole = new Trial(false);
    Trial cut = new Trial(true);
    for (long seed = FIRST; seed < FIRST + KERNELS; seed += KERNELS_PER_MODULE) {
      long end = Math.min(seed + KERNELS_PER_MODULE, FIRST + KERNELS);
      List<Program> programs =
          LongStream.range(seed, end).mapToObj(KernelGenerator::generate).toList();
      Trial trial = seed / KERNELS_PER_MODULE % 4 == 3 ? cut : whole;
      List<Difference> differences = trial.run(programs);
      if (!differences.isEmpty()) {
        throw new AssertionError(report(trial, differences.getFirst()));
      }
    }
    assertThat(whole.endless + cut.endless).as("kernels too long").isLessThan(1 + KERNELS / 50);
  }

  private static String report(Trial trial, Difference found) {
    Difference least = new Shrinker(trial).shrink(found);
    return """
    %s differs (%s).
    Try it alone with -Dgpupool.fuzz.seed=%s -Dgpupool.fuzz.kernels=1.
    Made smaller: %s, %s
    %s%s\
    """
        .formatted(
            found.program().name(),
            found.at(),
            found.program().name().substring("fuzz".length()),
            least.at(),
            least.program().launch(),
            Program.PREAMBLE,
            least.program().text());
  }
}
