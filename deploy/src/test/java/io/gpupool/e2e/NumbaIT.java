// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels in Numba on a software GPU, which gives NumPy's results. */
class NumbaIT {
  private static final Duration PATIENCE = Duration.ofMinutes(10);
  private static final Path KERNELS =
      Distribution.DEPLOY.resolve("src/test/python/numba_kernels.py");
  private static final String FIND = "from numba.cuda.cudadrv.nvvm import NVVM; NVVM()";

  private static String python;
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    python = PyTorch.command();
    assumeTrue(
        Program.of(python, "-c", FIND).run(PATIENCE).status() == 0,
        "Numba with NVIDIA's NVVM is not importable by "
            + python
            + "; GPUPOOL_TEST_PYTHON names another interpreter");
    pool = Pool.startAsInstalled("soft:1,mem=1Gi,cc=8.9");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"vector", "shared", "atomics", "reductions", "mandelbrot"})
  void kernel_inNumba_givesNumPysResults(String kernel) {
    Program.Ended ended = pool.run(new String[] {}, python, KERNELS, kernel).run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("numba " + kernel + ": OK");
  }
}
