// SPDX-License-Identifier: Apache-2.0
package io.gpupool.command;

import io.gpupool.cli.Installation;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** {@code gpupool version}. */
@Command(name = "version", description = "Prints the version.")
final class VersionCommand implements Callable<Integer>, IVersionProvider {
  @Override
  public Integer call() {
    System.out.println(getVersion()[0]);
    return 0;
  }

  @Override
  public String[] getVersion() {
    return new String[] {
      "gpupool "
          + Installation.version()
          + " (CUDA driver API 13.0, call stream 1, Java "
          + Runtime.version()
          + ")"
    };
  }
}
