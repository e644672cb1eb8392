// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import io.gpupool.wire.BuildVersion;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** The command {@code gpupool-k8s version}. */
@Command(name = "version", description = "Prints the version.")
final class VersionCommand implements Callable<Integer>, IVersionProvider {
  @Override
  public Integer call() {
    System.out.println(getVersion()[0]);
    return 0;
  }

  @Override
  public String[] getVersion() {
    return new String[] {"gpupool-k8s " + BuildVersion.TEXT + " (Java " + Runtime.version() + ")"};
  }
}
