// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;

/**
 * A Python interpreter with PyTorch's CUDA build: the one that {@code GPUPOOL_TEST_PYTHON} names,
 * else {@code python3}.
 *
 * @param interpreter its command
 * @param packages the folder with the packages of PyTorch and of NVIDIA
 */
record PyTorch(String interpreter, Path packages) {
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final String FIND =
      """
      import os, torch
      print(os.path.dirname(os.path.dirname(torch.__file__)) if torch.version.cuda else '')\
      """;

  /** Returns the interpreter's command, whether it has PyTorch or not. */
  static String command() {
    return System.getenv().getOrDefault("GPUPOOL_TEST_PYTHON", "python3");
  }

  /** Returns the interpreter; skips the test where it has no such PyTorch. */
  static PyTorch assumed() {
    String interpreter = command();
    Program.Ended asked = Program.of(interpreter, "-c", FIND).run(PATIENCE);
    assumeTrue(
        asked.status() == 0 && asked.output().startsWith("/"),
        "PyTorch's CUDA build is not importable by "
            + interpreter
            + "; GPUPOOL_TEST_PYTHON names another interpreter");
    return new PyTorch(interpreter, Path.of(asked.output().strip()));
  }
}
