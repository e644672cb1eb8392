// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code gpupool bench}: measures what a remote call costs here. */
@Command(
    name = "bench",
    description = {
      "Measures launches, copies, allocations and events through the pool, and beside them",
      "what a TCP loopback connection can do at all."
    })
final class BenchCommand implements Callable<Integer> {
  @Mixin private RunOptions options;

  @Parameters(paramLabel = "OPTION", description = "options of the measuring program, after --")
  private List<String> arguments = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    Installation installation = Installation.find();
    List<String> command = new ArrayList<>();
    command.add(installation.require(installation.benchmark()).toString());
    command.addAll(arguments);
    return new ProgramRun(installation, options).run(command);
  }
}
