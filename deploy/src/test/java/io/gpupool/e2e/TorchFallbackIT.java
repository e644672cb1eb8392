// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** PyTorch on a software GPU, whose operations the processor computes where they have no PTX. */
class TorchFallbackIT {
  private static final String VARIABLE = "GPUPOOL_TORCH_FALLBACK";
  private static final String[] WHOLE = {};
  private static final Duration PATIENCE = Duration.ofMinutes(15);
  private static final Path MODULES = Distribution.HOME.resolve("lib/python");
  private static final Path CASES =
      Distribution.DEPLOY.resolve("src/test/python/torch_fallback.py");

  @TempDir static Path folder;
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.startAsInstalled("soft:1,mem=4Gi,cc=8.9");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void modules_areOnThePathOfProgramsThatAskForThem() {
    String script = "echo \"[$PYTHONPATH]\"";
    Program.Builder asking =
        pool.run(WHOLE, "sh", "-c", script).with("PYTHONPATH", "/mine").with(VARIABLE, "cpu");
    assertThat(asking.run().output().strip()).isEqualTo("[" + MODULES + ":/mine]");
    Program.Builder silent = pool.run(WHOLE, "sh", "-c", script).with("PYTHONPATH", "/mine");
    assertThat(silent.run().output().strip()).isEqualTo("[/mine]");
    try (ModelGpu gpu = ModelGpu.start("mem=1Gi")) {
      Program.Builder onNvidia = gpu.pool().run(WHOLE, "sh", "-c", script).with(VARIABLE, "cpu");
      assertThat(onNvidia.run().output()).doesNotContain(MODULES.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "elementwise",
        "views",
        "indices",
        "reductions",
        "layers",
        "random",
        "eager",
        "compiled",
        "missing"
      })
  void operations_withTheFallback_giveTheProcessorsResults(String operations) {
    PyTorch torch = PyTorch.assumed();
    Program.Ended ended =
        pool.run(WHOLE, torch.interpreter(), CASES, operations)
            .with(VARIABLE, "cpu")
            .with("TRITON_CACHE_DIR", folder.resolve("triton"))
            .with("TORCHINDUCTOR_CACHE_DIR", folder.resolve("inductor"))
            .run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("torch " + operations + ": OK");
  }

  @Test
  void operations_withoutTheFallback_areRefusedWithTheWayOut() {
    PyTorch torch = PyTorch.assumed();
    String script = "import torch; torch.ones(3, device='cuda').cpu()";
    Program.Ended ended = pool.run(WHOLE, torch.interpreter(), "-c", script).run(PATIENCE);
    assertThat(ended.status()).isNotZero();
    assertThat(ended.errors()).contains("set " + VARIABLE + "=cpu");
  }

  @Test
  void fallback_thatDoesNotExist_isToldApart() {
    PyTorch torch = PyTorch.assumed();
    Program.Ended ended =
        pool.run(WHOLE, torch.interpreter(), "-c", "import torch")
            .with(VARIABLE, "gpu")
            .run(PATIENCE);
    assertThat(ended.status()).isNotZero();
    assertThat(ended.errors()).contains(VARIABLE + " is 'gpu'; it can be 'cpu' or empty");
  }
}
