// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** PyTorch's CUDA build on a share of a software GPU: sees it, fills it, copies, runs out of it. */
class PyTorchIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Path SCRIPT = Distribution.DEPLOY.resolve("src/test/python/tensors.py");

  @Test
  void torch_onAFraction_seesAllocatesCopiesAndRunsOutOfItsShare() {
    String python = PyTorch.assumed().interpreter();
    try (Pool pool = Pool.startAsInstalled("soft:1,mem=2Gi")) {
      Program.Ended ended =
          pool.run(new String[] {"-p", "0.5"}, python, SCRIPT, 1L << 30).run(PATIENCE);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("tensors: OK");
    }
  }
}
