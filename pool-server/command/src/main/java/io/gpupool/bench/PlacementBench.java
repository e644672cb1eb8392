// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.Table;
import io.gpupool.server.placement.PlacementTrial;
import io.gpupool.server.placement.PlacementTrial.Figures;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code gpupool bench placement}: measures how fast and how densely requests are placed on a large
 * pool.
 */
@Command(
    name = "placement",
    description = {
      "Places requests on a pool that exists in memory alone, kept full while leases come and end at",
      "random, and shows what a decision takes and how much of the pool is granted."
    })
final class PlacementBench implements Callable<Integer> {
  @Option(names = "--servers", description = "how many (default: 1000)", defaultValue = "1000")
  private int servers;

  @Option(names = "--gpus", description = "of each server (default: 8)", defaultValue = "8")
  private int gpus;

  @Option(names = "--decisions", description = "how many (default: 5000)", defaultValue = "5000")
  private int decisions;

  @Option(names = "--seed", description = "of the random requests (default: 1)", defaultValue = "1")
  private long seed;

  @Override
  public Integer call() {
    if (servers < 1 || gpus < 1 || decisions < 1) {
      throw new IllegalArgumentException("--servers, --gpus and --decisions: give at least 1");
    }
    Figures figures = new PlacementTrial(servers, gpus, seed).run(decisions);
    Table table =
        new Table(
            "GPUS",
            "DECISIONS",
            "PLACED",
            "MEDIAN",
            "99 %",
            "LONGEST",
            "GRANTED WHEN FULL",
            "SEVERAL GPUS",
            "ACROSS SERVERS");
    table.row(
        servers * gpus,
        figures.decisions(),
        figures.placed(),
        micros(figures.medianMicros()),
        micros(figures.p99Micros()),
        micros(figures.mostMicros()),
        Amounts.percent(figures.grantedPercent()),
        figures.several(),
        figures.acrossServers());
    System.out.print(table);
    return 0;
  }

  private static String micros(double value) {
    return String.format(Locale.ROOT, "%.0f us", value);
  }
}
