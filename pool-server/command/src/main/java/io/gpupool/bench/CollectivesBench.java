// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.CollectivesMeasurement.Plan;
import io.gpupool.bench.CollectivesMeasurement.Repetitions;
import io.gpupool.bench.CollectivesMeasurement.Size;
import io.gpupool.cli.Environment;
import io.gpupool.cli.Installation;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.SecurityOptions;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.json.JsonForm;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool bench collectives}: measures NCCL's calls between servers. */
@Command(
    name = "collectives",
    description = {
      "Measures NCCL's calls between ranks on servers of a pool, each on a lease of its own, and",
      "shows them as nccl-tests do. Latency is of one call and a wait for it. Calls: all_reduce,",
      "reduce, broadcast, all_gather, reduce_scatter, alltoall, sendrecv. Without a pool it starts",
      "two servers with software GPUs on this machine, which needs etcd in PATH, and measures a"
          + " TCP",
      "connection beside them: both ways at once where the ranks of a call send both ways. At the",
      "end it measures a step of data-parallel training on all ranks, beside one. Ends with status",
      "1 if a result is wrong."
    })
final class CollectivesBench implements Callable<Integer> {
  private static final long LEAST_MEMORY_BYTES = 64 << 20;
  private static final long MOST_BYTES = 1L << 32;
  private static final int MOST_CALLS = 100_000;
  private static final long SEEN_SECONDS = 30;
  private static final Pattern SIZE = Pattern.compile("(\\d{1,9})([KMG]?)");

  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = "the pool's control plane (else GPUPOOL_POOL, else two servers started here)")
  private @Nullable String pool;

  @Mixin private SecurityOptions security = new SecurityOptions();

  @Option(
      names = "--server",
      paramLabel = "NAME",
      description = "a server to have ranks on; may be repeated (default: all of the pool)")
  private List<String> servers = new ArrayList<>();

  @Option(
      names = {"-g", "--ngpus"},
      paramLabel = "COUNT",
      description = "ranks on each server, with a GPU each (default: ${DEFAULT-VALUE})",
      defaultValue = "1")
  private int gpus;

  @Option(
      names = {"-b", "--minbytes"},
      paramLabel = "SIZE",
      description = "the smallest size, such as 8, 64K or 1M (default: ${DEFAULT-VALUE})",
      defaultValue = "8")
  private String smallest = "";

  @Option(
      names = {"-e", "--maxbytes"},
      paramLabel = "SIZE",
      description = "the largest size (default: ${DEFAULT-VALUE})",
      defaultValue = "64M")
  private String largest = "";

  @Option(
      names = {"-f", "--stepfactor"},
      paramLabel = "FACTOR",
      description = "from one size to the next (default: ${DEFAULT-VALUE})",
      defaultValue = "2")
  private int factor;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "COUNT",
      description = "calls in a row with one wait for all (default: ${DEFAULT-VALUE})",
      defaultValue = "20")
  private int calls;

  @Option(
      names = {"-w", "--warmup_iters"},
      paramLabel = "COUNT",
      description =
          "calls in a row before all rounds, fewer of large sizes: the workers compile the code"
              + " that they run often (default: ${DEFAULT-VALUE})",
      defaultValue = "10000")
  private int warmUpCalls;

  @Option(
      names = "--rounds",
      paramLabel = "COUNT",
      description = "rounds of everything; medians are shown (default: ${DEFAULT-VALUE})",
      defaultValue = "3")
  private int rounds;

  @Option(names = "--output", description = "table or json", defaultValue = "table")
  private PoolCommand.Output output = PoolCommand.Output.table;

  @Parameters(paramLabel = "CALL", description = "what to measure (default: all_reduce)")
  private List<String> kinds = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    List<Collective> wanted =
        (kinds.isEmpty() ? List.of("all_reduce") : kinds).stream().map(Collective::of).toList();
    List<Long> asked = sizes();
    require(gpus >= 1 && gpus <= 16, "-g is 1 to 16");
    require(calls >= 1 && calls <= MOST_CALLS, "-n is 1 to " + MOST_CALLS);
    require(warmUpCalls >= 1 && warmUpCalls <= MOST_CALLS, "-w is 1 to " + MOST_CALLS);
    require(rounds >= 1, "--rounds is 1 or more");
    Optional<PoolAddress> named =
        Optional.ofNullable(pool).or(Environment::pool).map(PoolAddress::parse);
    require(
        named.isPresent() || servers.isEmpty(),
        "--server names a server of a pool: give --pool, too");
    Installation installation = Installation.find();
    if (named.isPresent()) {
      PoolAddress address = security.once().secured(named.get());
      return measure(
          installation, new Site(address, security.once(), servers, false), wanted, asked);
    }
    long mebibytes = (memoryBytes(asked, 0) >> 20) * gpus + 256;
    String own = "soft:" + gpus + ",mem=" + Math.max(mebibytes, 1024) + "Mi";
    try (LoopbackServers two = LoopbackServers.start(installation, own)) {
      Site site = new Site(two.address(), ClientSecurity.DEFAULT, List.of("m0", "m1"), true);
      return measure(installation, site, wanted, asked);
    }
  }

  /** The servers to measure; no names: all. */
  private record Site(
      PoolAddress address, ClientSecurity security, List<String> names, boolean isOwn) {}

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise);
    }
  }

  /** Reads a size as nccl-tests do. */
  private static long bytes(String option, String text) {
    Matcher form = SIZE.matcher(text);
    require(form.matches(), option + " takes a size such as 8, 64K or 1M, not '" + text + "'");
    int shift = "KMG".indexOf(form.group(2).isEmpty() ? ' ' : form.group(2).charAt(0)) * 10 + 10;
    return Long.parseLong(form.group(1)) << shift;
  }

  private List<Long> sizes() {
    long first = bytes("-b", smallest);
    long last = bytes("-e", largest);
    require(first >= 4 && last >= first && last <= MOST_BYTES, "-b to -e is 4 to 4G");
    require(factor >= 2, "-f is 2 or more");
    List<Long> sizes = new ArrayList<>();
    for (long size = first; size <= last; size *= factor) {
      sizes.add(size);
    }
    return sizes;
  }

  /** Two buffers, or those of a step, and what a program needs anyway. */
  private static long memoryBytes(List<Long> sizes, long contextBytes) {
    long bufferBytes = Math.max(sizes.getLast(), CollectivesMeasurement.GRADIENT_BYTES);
    return 2 * bufferBytes + LEAST_MEMORY_BYTES + contextBytes;
  }

  private int measure(
      Installation installation, Site site, List<Collective> wanted, List<Long> asked)
      throws Exception {
    List<GpuInfo> found = found(site);
    List<String> names =
        site.names().isEmpty()
            ? found.stream().map(GpuInfo::getServer).distinct().toList()
            : site.names();
    List<String> places = new ArrayList<>();
    for (String name : names) {
      places.addAll(Collections.nCopies(gpus, name));
    }
    require(places.size() > 1, "one rank has no other: give -g, or name more servers");
    long contextBytes = found.stream().mapToLong(GpuInfo::getContextMemoryBytes).max().orElse(0);
    Plan plan =
        new Plan(
            site.address(),
            security.variables(),
            places,
            sizes(wanted, asked, places.size()),
            new Repetitions(warmUpCalls, calls, rounds),
            memoryBytes(asked, contextBytes),
            site.isOwn());
    try (CollectivesMeasurement measurement = CollectivesMeasurement.start(installation, plan)) {
      CollectivesReport report = new CollectivesReport(plan, measurement.measure());
      boolean isJson = output == PoolCommand.Output.json;
      System.out.print(isJson ? JsonForm.text(report.json()) + "\n" : report.text());
      return report.wrong() == 0 ? 0 : 1;
    }
  }

  private static List<Size> sizes(List<Collective> wanted, List<Long> asked, int ranks) {
    return wanted.stream()
        .flatMap(call -> asked.stream().map(bytes -> new Size(call, call.sizeBytes(bytes, ranks))))
        .filter(size -> size.bytes() >= (long) Collective.ELEMENT_BYTES * ranks)
        .distinct()
        .toList();
  }

  /** Returns the GPUs of the pool. Servers that have just started are known after a moment. */
  private static List<GpuInfo> found(Site site) throws InterruptedException {
    EventLoopGroup loops = EventLoops.create("gpupool-bench", 1);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SEEN_SECONDS);
    try (PoolClient client =
        new PoolClient(site.address(), Environment.token(), site.security(), loops)) {
      while (true) {
        List<GpuInfo> found =
            client.blocking().listGpus(ListRequest.getDefaultInstance()).getGpusList();
        List<String> missing = new ArrayList<>(site.names());
        found.forEach(gpu -> missing.removeIf(gpu.getServer()::equals));
        if (missing.isEmpty()) {
          return found;
        }
        require(
            site.isOwn() && System.nanoTime() < end,
            "the pool has no server " + missing.getFirst() + "; 'gpupool list' shows its servers");
        Thread.sleep(100);
      }
    }
  }
}
