// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.gpupool.bench.BusyTenant.Plan;
import io.gpupool.bench.SharesMeasurement.Figures;
import io.gpupool.cli.Environment;
import io.gpupool.cli.Installation;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.SecurityOptions;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.server.command.EmbeddedPool;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.options.GpuOptions;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool bench shares}: measures the parts of a GPU's time that busy tenants get. */
@Command(
    name = "shares",
    description = {
      "Runs busy programs side by side on one GPU of a pool, and shows what part of its time each",
      "was granted and got. Loads: kernels, long, tiny, awaited, flood, copies, graphs, spinning,",
      "cooperative, hostcopies, devicecopies; and of kernels that take the TIME that is said, such"
          + " as eager=50us:",
      "eager, one after the other; graph, a hundred in a graph; each, awaited one by one; rarely,"
          + " for",
      "a twentieth of the time; queue, a hundred thousand at a time; serve, one every 20 ms."
    })
final class SharesBench implements Callable<Integer> {
  /** After this the shares of a new neighbour are right. */
  private static final int SETTLE_MILLIS = 1000;

  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = "a pool with one free GPU (default: one in software, for this command alone)")
  private @Nullable String pool;

  @Option(
      names = "--libcuda",
      paramLabel = "PATH",
      description = "a pool of this driver's GPUs instead, for this command alone")
  private @Nullable String libcuda;

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

  @Option(
      names = "--suite",
      description = {
        "runs the list of cases by which shares are judged instead, --runs times each, and prints"
            + " a",
        "row for each: what its tenants are to get, what they got, and how far off that is at"
            + " most.",
        "For a driver's GPUs; ends with status 1 if a case is further off than it may be"
      })
  private boolean suite;

  @Option(
      names = "--faults",
      description = {
        "measures how long a tenant stands still instead when its neighbour on the GPU is stopped,",
        "killed, or hangs in a kernel while it has the time slice, --runs times each"
      })
  private boolean faults;

  @Option(
      names = "--cost",
      description = {
        "measures what time slicing costs a tenant that is alone instead: --runs pairs of runs on"
            + " a",
        "driver's GPU, with it and with --sharing driver, and the median of their throughputs'"
            + " ratios",
        "(default: kernels of 50 us, and empty ones)"
      })
  private boolean cost;

  @Parameters(
      paramLabel = "PERCENT[:LOAD[=TIME]][*PROCESSES][:hard][:latency]",
      description = "a program, its share and what it does (default: 70 and 30, kernels)")
  private List<String> tenants = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    Installation installation = Installation.find();
    EventLoopGroup loops = EventLoops.create("gpupool-bench", 1);
    if (cost) {
      return measureCost(installation, loops);
    }
    List<Plan> plans = plans("70", "30");
    if (faults && pool != null) {
      throw new IllegalArgumentException(
          "--faults stops and kills workers of a pool of its own: give no --pool");
    }
    if (pool != null) {
      try (PoolClient client = client(PoolAddress.parse(pool), security.once(), loops)) {
        return measure(installation, client, plans);
      }
    }
    try (EmbeddedPool own = ownPool(sharing);
        PoolClient client = client(own.address(), ClientSecurity.DEFAULT, loops)) {
      return measure(installation, client, plans);
    }
  }

  private List<Plan> plans(String... usual) {
    return (tenants.isEmpty() ? List.of(usual) : tenants).stream().map(Plan::parse).toList();
  }

  private EmbeddedPool ownPool(Sharing with) throws Exception {
    return EmbeddedPool.start(
        EmbeddedPool.Purpose.measurement,
        libcuda != null ? new GpuSpec("all") : new GpuSpec("soft:1,mem=4Gi"),
        new DriverOptions(libcuda == null ? null : Path.of(libcuda), null, null, with),
        GpuOptions.MissingPtx.fail);
  }

  /** A row for each tenant, alone. */
  private int measureCost(Installation installation, EventLoopGroup loops) throws Exception {
    if (pool != null || libcuda == null) {
      throw new IllegalArgumentException(
          "--cost compares pools of its own with a driver's GPUs: give --libcuda, and no --pool");
    }
    Table table = new Table("LOAD", "PAIRS", "TIME-SLICED / NOT", "LEAST TO MOST");
    for (Plan plan : plans("100:eager=50us", "100:eager=1ns")) {
      TimeSlicingCost pairs = new TimeSlicingCost(plan);
      for (int pair = 0; pair < runs; pair++) {
        pairs.measurePair(
            pair,
            (tenant, timeSliced) -> {
              Sharing with = timeSliced ? Sharing.timeslice : Sharing.driver;
              try (EmbeddedPool own = ownPool(with);
                  PoolClient client = client(own.address(), ClientSecurity.DEFAULT, loops);
                  SharesMeasurement measurement =
                      new SharesMeasurement(installation, client, List.of(tenant))) {
                Thread.sleep(SETTLE_MILLIS);
                return measurement.run(seconds).getFirst();
              }
            });
      }
      table.row(pairs.row());
    }
    System.out.println(table);
    return 0;
  }

  private static PoolClient client(PoolAddress address, ClientSecurity with, EventLoopGroup loops) {
    return new PoolClient(address, Environment.token(), with, loops);
  }

  private int measure(Installation installation, PoolClient client, List<Plan> plans)
      throws IOException, InterruptedException {
    if (suite) {
      return judge(installation, client);
    }
    if (faults) {
      Table table = new Table("NEIGHBOUR", "RUNS", "LONGEST PAUSE");
      new TimeSliceFaults(installation, client).rows(runs).forEach(table::row);
      System.out.println(table);
      return 0;
    }
    try (SharesMeasurement measurement = new SharesMeasurement(installation, client, plans)) {
      Thread.sleep(SETTLE_MILLIS);
      for (int run = 1; run <= runs; run++) {
        show(run, measurement.run(seconds));
      }
    }
    return 0;
  }

  /** The whole list of cases, a row each; 1 if one of them is not as it should be. */
  private int judge(Installation installation, PoolClient client)
      throws IOException, InterruptedException {
    Table table = new Table("CASE", "TENANTS", "EXPECTED", "GOT", "FURTHEST OFF", "WAIT P99");
    boolean holds = true;
    for (SharesSuite.Case judged : SharesSuite.cases()) {
      SharesSuite.Result result = new SharesSuite.Result(judged);
      try (SharesMeasurement measurement =
          new SharesMeasurement(installation, client, judged.plans())) {
        Thread.sleep(SETTLE_MILLIS);
        for (int run = 1; run <= runs; run++) {
          result.add(measurement.run(seconds));
        }
      }
      holds &= result.holds();
      table.row(result.row());
      System.err.println(judged.name() + ": furthest off " + rounded(result.mostOff()));
    }
    System.out.println(table);
    return holds ? 0 : 1;
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
            "WAITED",
            "WAIT P99",
            "UNITS");
    for (Figures one : figures) {
      table.row(
          run,
          one.plan(),
          one.plan().described(),
          rounded(one.ofTime()) + "%",
          Double.isNaN(one.counted()) ? "-" : rounded(one.counted()) + "%",
          rounded(one.ofUsed()) + "%",
          rounded(one.waited()) + "s",
          one.waitP99Micros() == 0 ? "-" : rounded(one.waitP99Micros() / 1e3) + "ms",
          one.units());
    }
    System.out.println(table);
  }

  private static JsonObject json(int run, List<Figures> figures) {
    JsonArray tenants = new JsonArray();
    for (Figures one : figures) {
      JsonObject tenant = new JsonObject();
      tenant.addProperty("granted", one.plan().percent());
      tenant.addProperty("hard", one.plan().hard());
      tenant.addProperty("load", one.plan().described());
      tenant.add("ofTime", number(one.ofTime()));
      tenant.add("counted", number(one.counted()));
      tenant.add("ofUsed", number(one.ofUsed()));
      tenant.add("waitedSeconds", number(one.waited()));
      tenant.addProperty("waitP99Micros", one.waitP99Micros());
      tenant.addProperty("units", one.units());
      tenants.add(tenant);
    }
    JsonObject json = new JsonObject();
    json.addProperty("run", run);
    json.add("tenants", tenants);
    return json;
  }

  private static JsonElement number(double value) {
    return Double.isNaN(value)
        ? JsonNull.INSTANCE
        : new JsonPrimitive(new BigDecimal(rounded(value)));
  }

  private static String rounded(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }
}
