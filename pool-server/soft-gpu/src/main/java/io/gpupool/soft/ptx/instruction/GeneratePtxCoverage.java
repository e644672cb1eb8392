// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.instruction;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The generator of {@code docs/reference/ptx-coverage.md}. */
public final class GeneratePtxCoverage {
  private GeneratePtxCoverage() {}

  /**
   * Generates the page.
   *
   * @param args the folder to write {@code ptx-coverage.md} into
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 1) {
      throw new IllegalArgumentException("usage: GeneratePtxCoverage OUTDIR");
    }
    Files.writeString(Path.of(args[0], "ptx-coverage.md"), new PtxCoverage().text());
  }
}
