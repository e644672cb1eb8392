// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.cli.Installation;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.run.ProgramRun;
import io.gpupool.cli.run.RunOptions;
import io.gpupool.server.command.EmbeddedPool;
import io.gpupool.server.command.EmbeddedPool.Purpose;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool bench}: measures the cost of a remote call. */
@Command(
    name = "bench",
    description = {
      "Measures launches, copies, allocations and events through the pool, and beside them",
      "what a TCP loopback connection can do at all."
    },
    subcommands = {
      BenchCommand.Soft.class,
      SharesBench.class,
      PlacementBench.class,
      CollectivesBench.class
    })
public final class BenchCommand implements Callable<Integer> {
  /** Where to measure, and how to tell. */
  static final class Measuring {
    @Mixin private RunOptions options = new RunOptions();

    @Option(names = "--output", description = "table or json", defaultValue = "table")
    private PoolCommand.Output output = PoolCommand.Output.table;

    @Parameters(paramLabel = "OPTION", description = "options of the measuring program, after --")
    private List<String> arguments = new ArrayList<>();

    int run(String program) throws Exception {
      Installation installation = Installation.find();
      List<String> command = new ArrayList<>();
      command.add(installation.require(installation.benchmark(program)).toString());
      if (output == PoolCommand.Output.json) {
        command.add("--json");
      }
      command.addAll(arguments);
      return new ProgramRun(installation, options, EmbeddedPool.starter(Purpose.measurement))
          .run(command);
    }
  }

  @Mixin private Measuring measuring = new Measuring();

  @Override
  public Integer call() throws Exception {
    return measuring.run("remoting");
  }

  /** {@code gpupool bench soft}: measures kernels on the software GPU. */
  @Command(
      name = "soft",
      description = {
        "Measures kernels on the software GPU, and beside them plain C on all cores: matrix",
        "multiplication, vector addition, sums, scans, and the first launch after a load."
      })
  static final class Soft implements Callable<Integer> {
    private static final String GPUS = "soft:1,mem=1Gi";

    @Mixin private Measuring measuring = new Measuring();

    @Override
    public Integer call() throws Exception {
      measuring.options.defaultTo(GPUS);
      return measuring.run("soft");
    }
  }
}
