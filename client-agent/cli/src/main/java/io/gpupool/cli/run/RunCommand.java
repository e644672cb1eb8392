// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import io.gpupool.cli.Installation;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code gpupool run}: a program on GPUs of the pool. */
@Command(
    name = "run",
    description = {
      "Runs a program on GPUs of the pool: leases them, starts the program with the shim in front",
      "of its libraries, passes input, output, signals and its exit status through, and gives the",
      "lease back. Status 75: no lease now; 2: the pool can never grant the request; 69: no pool",
      "there; 77: the pool denies access; 126, 127: no such program."
    })
public final class RunCommand implements Callable<Integer> {
  private final LocalPool.Starter pools;

  @Mixin private RunOptions options;

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "the program and its arguments")
  private List<String> command;

  /** Runs programs on pools of this starter where no pool is named. */
  public RunCommand(LocalPool.Starter pools) {
    this.pools = pools;
  }

  @Override
  public Integer call() throws Exception {
    return new ProgramRun(Installation.find(), options, pools).run(command);
  }
}
