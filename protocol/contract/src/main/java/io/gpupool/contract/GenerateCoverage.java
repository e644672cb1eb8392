// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A generator of {@code docs/reference/cuda-coverage.md}. */
public final class GenerateCoverage {
  private GenerateCoverage() {}

  /**
   * Runs the generator.
   *
   * @param args the folder of the description, and the folder to write {@code cuda-coverage.md}
   *     into
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      throw new IllegalArgumentException("usage: GenerateCoverage CONTRACTDIR OUTDIR");
    }
    Contract contract = Contract.read(Path.of(args[0]));
    Files.createDirectories(Path.of(args[1]));
    Files.writeString(Path.of(args[1], "cuda-coverage.md"), new CoveragePage(contract).text());
  }
}
