// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import io.gpupool.cli.Environment;
import io.gpupool.cli.LeasePartOptions;
import io.gpupool.cli.SecurityOptions;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.Gang;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of a program's lease and of the pool that grants it. */
public final class RunOptions {
  private static final String GPUS = "GPUPOOL_GPUS";

  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = {
        "the pool's control plane (else GPUPOOL_POOL; without either, a pool of this machine's",
        "GPUs is started for as long as the program runs)"
      })
  private @Nullable String pool;

  @Mixin private SecurityOptions security = new SecurityOptions();

  @Mixin private LeasePartOptions part = new LeasePartOptions();

  @Option(
      names = "--hard",
      description = "no more of a GPU's time than that, even if the rest of it is idle")
  private boolean hard;

  @Option(
      names = "--select",
      paramLabel = "KEY=VALUE",
      description = {
        "only GPUs with this property, such as model=*H200*, label.zone=eu, 'cc>=8.0' or",
        "'driver>=12.4'; also server, gpu and uuid; may be repeated"
      })
  private Map<String, String> select = new LinkedHashMap<>();

  @Option(
      names = "--partition",
      paramLabel = "NAME",
      description = "only partitions of this name, all of it unless -p or -m say how much")
  private @Nullable String partition;

  @Option(
      names = "--spread",
      description = "on GPUs and servers with as few others as possible (default: close to others)")
  private boolean spread;

  @Option(
      names = "--one-server",
      description = "all GPUs on one server (default: on several if none has room for all)")
  private boolean oneServer;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "how long to wait for GPUs that are taken, such as 30s (default: not at all)")
  private @Nullable String wait;

  @Option(
      names = "--priority",
      paramLabel = "NUMBER",
      description = "who goes first of those who wait, -1000 to 1000 (default: 0)")
  private @Nullable Integer priority;

  @ArgGroup(exclusive = false)
  private @Nullable GangOptions gang;

  /** The gang of the lease. */
  private static final class GangOptions {
    @Option(
        names = "--gang",
        paramLabel = "NAME",
        required = true,
        description = {
          "get the lease together with the others of this gang of the tenant, or wait; with",
          "--gang-size and --wait"
        })
    private String name = "";

    @Option(
        names = "--gang-size",
        paramLabel = "LEASES",
        required = true,
        description = "the number of leases of the gang, the same for all of them")
    private int size;

    private Gang gang() {
      return Gang.newBuilder().setName(name).setSize(size).build();
    }
  }

  @Option(
      names = "--gpus",
      paramLabel = "GPUS",
      description = {
        "the GPUs of a pool started for this program, as for 'gpupool server' (else GPUPOOL_GPUS,",
        "where it is no number; else all)"
      })
  private @Nullable String embeddedGpus;

  @Option(
      names = "--libcuda",
      paramLabel = "PATH",
      description = "the driver of a pool started for this program, as for 'gpupool server'")
  private @Nullable String libcuda;

  @Option(
      names = "--soft-missing-ptx",
      paramLabel = "fail|skip",
      defaultValue = "fail",
      description = {
        "a launch in software of a kernel without PTX, in a pool started for this program"
            + " (default:",
        "${DEFAULT-VALUE})"
      })
  private LocalPool.MissingPtx missingPtx = LocalPool.MissingPtx.fail;

  @Option(names = "--relay", description = "relay all bytes instead of handing over the connection")
  private boolean relay;

  public Optional<PoolAddress> pool() {
    return Optional.ofNullable(pool)
        .or(Environment::pool)
        .map(PoolAddress::parse)
        .map(security()::secured);
  }

  /** The options of a pool started for this program. */
  LocalPool.Options ownPool() {
    return new LocalPool.Options(
        Optional.ofNullable(embeddedGpus)
            .or(() -> Environment.variable(GPUS).filter(Environment::isSpec))
            .orElse("all"),
        libcuda == null ? null : Path.of(libcuda),
        missingPtx);
  }

  /** These GPUs, in a pool started for this program, unless a pool or GPUs were asked for. */
  public void defaultTo(String gpus) {
    if (pool().isEmpty() && embeddedGpus == null) {
      embeddedGpus = gpus;
    }
  }

  /** Returns whether a pool must be started for this program although an agent may know another. */
  boolean wantsOwnPool() {
    return embeddedGpus != null && pool().isEmpty();
  }

  public ClientSecurity security() {
    return security.once();
  }

  boolean relay() {
    return relay;
  }

  public LeaseOptions wish() {
    Map<String, String> values = part.values();
    return LeaseOptions.from(name -> Optional.ofNullable(values.get(name)))
        .with(
            new LeaseOptions.Placement(select, partition, spread, oneServer),
            new LeaseOptions.Waiting(wait, priority, gang == null ? null : gang.gang()),
            hard)
        .orElse(Environment.wish());
  }
}
