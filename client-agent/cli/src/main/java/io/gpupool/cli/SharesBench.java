// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.ClientSecurity;
import io.gpupool.agent.PoolAddress;
import io.gpupool.agent.PoolClient;
import io.gpupool.cli.BusyTenant.Plan;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.server.ServerOptions;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool bench shares}: what part of a GPU's time tenants get that are always busy. */
@Command(
    name = "shares",
    description = {
      "Runs busy programs side by side on one GPU of a pool, and shows what part of its time each",
      "was granted and got. Loads: kernels, long, tiny, awaited, flood, copies, graphs, spinning,",
      "cooperative, hostcopies; and of kernels that take the TIME that is said, such as eager=50us:",
      "eager, one after the other; graph, a hundred in a graph; each, awaited one by one; rarely, for",
      "a twentieth of the time; queue, a hundred thousand at a time."
    })
final class SharesBench implements Callable<Integer> {
  private static final double NANOS_A_SECOND = 1e9;
  private static final int SETTLE_MILLIS = 2000;

  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = "a pool with one free GPU (default: one in software, for this command alone)")
  private Optional<String> pool = Optional.empty();

  @Option(
      names = "--libcuda",
      paramLabel = "PATH",
      description = "a pool of this driver's GPUs instead, for this command alone")
  private Optional<String> libcuda = Optional.empty();

  @Option(
      names = "--sharing",
      paramLabel = "timeslice|driver",
      defaultValue = "timeslice",
      description = "how they share it, as for 'gpupool server'")
  private Sharing sharing = Sharing.timeslice;

  @Mixin private SecurityOptions security = new SecurityOptions();

  @Option(names = "--seconds", description = "how long a run is (default: 10)", defaultValue = "10")
  private double seconds;

  @Option(names = "--runs", description = "how many runs (default: 1)", defaultValue = "1")
  private int runs;

  @Option(names = "--output", description = "table or json", defaultValue = "table")
  private PoolCommand.Output output = PoolCommand.Output.table;

  @Parameters(
      paramLabel = "PERCENT[:LOAD[=TIME]][*PROCESSES][:hard]",
      description = "a program, its share and what it does (default: 70 and 30, kernels)")
  private List<String> tenants = new ArrayList<>();

  /** What a tenant has had by a time. */
  private record Reading(long atNanos, long usedNanos, long throttledNanos, long units) {}

  /**
   * What a tenant had in a run, in percent: of the time, and of what all had together.
   *
   * @param counted of the time, as it counts its own kernels; NaN if they are not timed
   */
  private record Figures(
      Plan plan, double ofTime, double counted, double ofUsed, double throttled, long units) {}

  @Override
  public Integer call() throws Exception {
    List<Plan> plans =
        (tenants.isEmpty() ? List.of("70", "30") : tenants).stream().map(Plan::parse).toList();
    Installation installation = Installation.find();
    EventLoopGroup loops = EventLoops.create("gpupool-bench", 1);
    if (pool.isPresent()) {
      try (PoolClient client = client(PoolAddress.parse(pool.get()), security.once(), loops)) {
        measure(installation, client, plans);
      }
    } else {
      try (EmbeddedPool own =
              EmbeddedPool.start(
                  EmbeddedPool.Purpose.measurement,
                  installation,
                  libcuda.isPresent() ? new GpuSpec("all") : new GpuSpec("soft:1,mem=4Gi"),
                  new DriverOptions(libcuda.map(Path::of), Optional.empty(), sharing),
                  ServerOptions.MissingPtx.fail);
          PoolClient client = client(own.address(), ClientSecurity.DEFAULT, loops)) {
        measure(installation, client, plans);
      }
    }
    return 0;
  }

  private static PoolClient client(PoolAddress address, ClientSecurity with, EventLoopGroup loops) {
    return new PoolClient(address, Environment.token(), with, loops);
  }

  private void measure(Installation installation, PoolClient client, List<Plan> plans)
      throws IOException, InterruptedException {
    List<BusyTenant> running = new ArrayList<>();
    try {
      for (Plan plan : plans) {
        running.add(BusyTenant.start(installation, client.address(), plan));
      }
      readings(running, client);
      Thread.sleep(SETTLE_MILLIS);
      for (int run = 1; run <= runs; run++) {
        List<Reading> before = readings(running, client);
        Thread.sleep((long) (seconds * 1000));
        show(run, figures(plans, before, readings(running, client)));
      }
    } finally {
      for (BusyTenant tenant : running) {
        tenant.close();
      }
    }
  }

  private static List<Reading> readings(List<BusyTenant> tenants, PoolClient client)
      throws IOException {
    List<Long> units = new ArrayList<>();
    for (BusyTenant tenant : tenants) {
      units.add(tenant.units());
    }
    List<LeaseInfo> leases =
        client.blocking().listLeases(ListRequest.getDefaultInstance()).getLeasesList();
    long now = System.nanoTime();
    List<Reading> readings = new ArrayList<>();
    for (int i = 0; i < units.size(); i++) {
      long pid = tenants.get(i).pid();
      GrantUse use =
          leases.stream()
              .filter(lease -> lease.getHolder().getPid() == pid)
              .findFirst()
              .orElseThrow(() -> new IOException("the lease of process " + pid + " is gone"))
              .getGrants(0);
      readings.add(new Reading(now, use.getUsedGpuNanos(), use.getThrottledNanos(), units.get(i)));
    }
    return readings;
  }

  private static List<Figures> figures(
      List<Plan> plans, List<Reading> before, List<Reading> after) {
    double all = 0;
    for (int i = 0; i < plans.size(); i++) {
      all += after.get(i).usedNanos - before.get(i).usedNanos;
    }
    List<Figures> figures = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Reading first = before.get(i);
      Reading last = after.get(i);
      double passed = last.atNanos - first.atNanos;
      double used = last.usedNanos - first.usedNanos;
      long kernelNanos = plans.get(i).kernelNanos();
      double counted =
          kernelNanos == 0 ? Double.NaN : (double) (last.units - first.units) * kernelNanos;
      figures.add(
          new Figures(
              plans.get(i),
              100 * used / passed,
              100 * counted / passed,
              100 * used / Math.max(all, 1),
              (last.throttledNanos - first.throttledNanos) / NANOS_A_SECOND,
              last.units - first.units));
    }
    return figures;
  }

  private void show(int run, List<Figures> figures) {
    if (output == PoolCommand.Output.json) {
      System.out.println(json(run, figures));
      return;
    }
    Table table =
        new Table(
            "RUN",
            "GRANTED",
            "LOAD",
            "OF THE TIME",
            "COUNTED",
            "OF ALL USED",
            "THROTTLED",
            "UNITS");
    for (Figures one : figures) {
      table.row(
          run,
          one.plan,
          one.plan.described(),
          rounded(one.ofTime) + "%",
          Double.isNaN(one.counted) ? "-" : rounded(one.counted) + "%",
          rounded(one.ofUsed) + "%",
          rounded(one.throttled) + "s",
          one.units);
    }
    System.out.println(table);
  }

  private static String json(int run, List<Figures> figures) {
    StringJoiner lines = new StringJoiner(",", "{\"run\":" + run + ",\"tenants\":[", "]}");
    for (Figures one : figures) {
      lines.add(
          "{\"granted\":%s,\"hard\":%s,\"load\":\"%s\",\"ofTime\":%s,\"counted\":%s,\"ofUsed\":%s,\"throttledSeconds\":%s,\"units\":%d}"
              .formatted(
                  one.plan.percent(),
                  one.plan.hard(),
                  one.plan.described(),
                  rounded(one.ofTime),
                  Double.isNaN(one.counted) ? "null" : rounded(one.counted),
                  rounded(one.ofUsed),
                  rounded(one.throttled),
                  one.units));
    }
    return lines.toString();
  }

  private static String rounded(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }
}
