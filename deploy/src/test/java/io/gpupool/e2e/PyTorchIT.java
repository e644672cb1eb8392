// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** PyTorch's CUDA build on a share of a software GPU: sees it, fills it, copies, runs out of it. */
class PyTorchIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Path SCRIPT = Distribution.DEPLOY.resolve("src/test/python/tensors.py");

  @Test
  void torch_onAFraction_seesAllocatesCopiesAndRunsOutOfItsShare() {
    String python = System.getenv().getOrDefault("GPUPOOL_TEST_PYTHON", "python3");
    Program.Ended build =
        Program.of(python, "-c", "import torch; print(torch.version.cuda)").run(PATIENCE);
    assumeTrue(
        build.status() == 0 && build.output().startsWith("1"),
        "PyTorch's CUDA build is not importable by "
            + python
            + "; GPUPOOL_TEST_PYTHON names another interpreter");
    try (Pool pool = Pool.startAsInstalled("soft:1,mem=2Gi")) {
      Program.Ended ended =
          pool.run(new String[] {"-p", "0.5"}, python, SCRIPT, 1L << 30).run(PATIENCE);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("tensors: OK");
    }
  }
}
