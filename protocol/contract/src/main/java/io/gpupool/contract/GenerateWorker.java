// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A generator of the worker's Java: backend interface and binding, op numbers, layouts, dispatcher.
 */
public final class GenerateWorker {
  private GenerateWorker() {}

  /**
   * Runs the generator.
   *
   * @param args the folder of the description, and the source folder to write into
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      throw new IllegalArgumentException("usage: GenerateWorker CONTRACTDIR OUTDIR");
    }
    Contract contract = Contract.read(Path.of(args[0]));
    Path outputFolder = Path.of(args[1]);
    BackendParts parts = BackendParts.read(Path.of(args[0]).resolve("parts.txt"));
    new BackendEmitter(contract, outputFolder).emit();
    new ComposedBackendEmitter(contract, parts, outputFolder).emit();
    new WireEmitter(contract, outputFolder).emit();
    new OpsEmitter(contract, outputFolder).emit();
    new EffectsEmitter(contract, outputFolder).emit();
    new DispatcherEmitter(contract, outputFolder).emit();
  }
}
