// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The distribution that this build has laid out, and the places of what it is tested with. */
final class Distribution {
  static final Path ROOT = Path.of(System.getProperty("gpupool.root"));
  static final Path DEPLOY = ROOT.resolve("deploy");
  static final Path HOME = DEPLOY.resolve("target/gpupool");
  static final Path SHIM = HOME.resolve("lib/shim");

  /** The program that keeps a GPU busy. */
  static final Path LOAD = HOME.resolve("lib/bench/load");

  static final Path EXAMPLES = DEPLOY.resolve("examples");
  static final Path KERNELS = EXAMPLES.resolve("driver-api/kernels.ptx");
  static final Path NCCL_EXAMPLES = EXAMPLES.resolve("nccl");
  static final Path WORK = made(DEPLOY.resolve("target/e2e"));

  private Distribution() {}

  /** The command, which is there once the module is packaged. */
  static Path gpupool() {
    Path command = HOME.resolve("bin/gpupool");
    assertThat(command).as("run the package phase first").isExecutable();
    return command;
  }

  private static Path made(Path folder) {
    try {
      return Files.createDirectories(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
