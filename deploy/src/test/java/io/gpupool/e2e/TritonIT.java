// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels in Triton on a software GPU, which gives the processor's results. */
class TritonIT {
  private static final Duration PATIENCE = Duration.ofMinutes(10);
  private static final Path KERNELS =
      Distribution.DEPLOY.resolve("src/test/python/triton_kernels.py");

  @TempDir static Path folder;
  private static String python;
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    python = PyTorch.assumed().interpreter();
    // The products of matrices of later ones use instructions that no software GPU has.
    pool = Pool.startAsInstalled("soft:1,mem=4Gi,cc=8.9");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"add", "softmax", "layer_norm", "dot", "atomics", "random", "scan", "attention"})
  void kernel_inTriton_givesTheProcessorsResults(String kernel) {
    Program.Ended ended =
        pool.run(new String[] {}, python, KERNELS, kernel)
            .with("TRITON_CACHE_DIR", folder)
            .run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("triton " + kernel + ": OK");
  }
}
