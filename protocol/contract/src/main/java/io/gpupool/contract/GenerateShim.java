// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A generator of the shim's C: types, exported entry points with their variants, marshalling of
 * ops, the table behind {@code cuGetProcAddress} and the linker's version script.
 */
public final class GenerateShim {
  private GenerateShim() {}

  /**
   * Runs the generator.
   *
   * @param args the folder of the description, and the folder to write into
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      throw new IllegalArgumentException("usage: GenerateShim CONTRACTDIR OUTDIR");
    }
    Contract contract = Contract.read(Path.of(args[0]));
    Path outputFolder = Path.of(args[1]);
    new ShimTypes(contract).emit(outputFolder);
    new ShimWire(contract).emit(outputFolder);
    new ShimOps(contract).emit(outputFolder);
    new ShimGolden(contract).emit(outputFolder);
    new ShimAutos(contract).emit(outputFolder);
    new ShimSteps(contract).emit(outputFolder);
    new ShimEntries(contract).emit(outputFolder);
    new ShimExports(contract).emit(outputFolder);
    new ShimProcTable(contract).emit(outputFolder);
  }
}
