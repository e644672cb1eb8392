// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.HolderText;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.cli.lease.LeaseCommand;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.JsonForm;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code gpupool top}: servers, GPUs and their fractions, with holders and waiting requests. */
@Command(
    name = "top",
    description = "Shows servers, GPUs, the fractions leased, who holds them and who waits.")
public final class TopCommand extends PoolCommand {
  private static final int BAR_WIDTH = 20;
  private static final String CLEAR = "\033[H\033[2J";

  @Option(
      names = {"-d", "--details"},
      description = "shows leases, who holds them, and their programs")
  private boolean details;

  @Option(names = "--watch", description = "draws anew every two seconds, until interrupted")
  private boolean watch;

  @Override
  protected int ask(PoolClient client) throws Exception {
    do {
      PoolSnapshot pool = PoolSnapshot.of(client);
      String text = json() ? JsonForm.text(pool.json()) + "\n" : draw(pool, details);
      System.out.print(watch && !json() ? CLEAR + text : text);
      System.out.flush();
      if (watch) {
        Thread.sleep(2000);
      }
    } while (watch);
    return 0;
  }

  static String draw(PoolSnapshot pool, boolean details) {
    StringBuilder text = new StringBuilder();
    text.append(servers(pool)).append('\n').append(gpus(pool));
    if (details) {
      text.append('\n').append(pool.leases().isEmpty() ? "no leases\n" : leases(pool));
      if (!pool.leases().isEmpty()) {
        text.append('\n').append(GpuTimes.table(pool));
      }
    }
    if (!pool.queue().isEmpty()) {
      text.append('\n').append(LeaseCommand.Queue.table(pool.queue()));
    }
    return text.toString();
  }

  /** One line a server, and one for all of them. */
  private static Table servers(PoolSnapshot pool) {
    Table servers =
        new Table(
            "SERVER",
            "ADDRESS",
            "STATE",
            "BACKEND",
            "GPUS",
            "ALLOCATED",
            "LEASES",
            "SESSIONS",
            "UP");
    for (ServerInfo server : pool.servers()) {
      servers.row(
          server.getName(),
          server.getAddress(),
          JsonForm.text(server.getState()),
          server.getBackend(),
          server.getGpus(),
          allocated(
              pool.gpus().stream()
                  .filter(gpu -> gpu.getServer().equals(server.getName()))
                  .toList()),
          server.getLeases(),
          server.getSessions(),
          Amounts.age(server.getUpMillis()));
    }
    servers.row(
        "all " + pool.servers().size(),
        "",
        "",
        "",
        pool.gpus().size(),
        allocated(pool.gpus()),
        pool.leases().size(),
        pool.sessions().size(),
        "");
    return servers;
  }

  private static Table gpus(PoolSnapshot pool) {
    Table gpus = new Table("GPU", "NAME", "MEMORY", "FREE", "COMPUTE FREE", "LEASED");
    for (GpuInfo gpu : pool.gpus()) {
      gpus.row(
          gpu.getServer() + "/" + gpu.getGpu(),
          gpu.getName(),
          Amounts.bytes(gpu.getMemoryBytes()),
          FreeText.memory(gpu),
          FreeText.compute(gpu),
          gpu.getProblem().isEmpty() ? bar(gpu) : "unhealthy: " + gpu.getProblem());
    }
    return gpus;
  }

  /** The leases, and under each its programs. */
  private static Table leases(PoolSnapshot pool) {
    Table leases =
        new Table(
            "LEASE", "TENANT", "GPU", "SHARE", "COMPUTE", "USED", "HOLDER", "CALLS", "AGE",
            "STATE");
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        leases.row(
            lease.getId(),
            lease.getTenant(),
            use.getGrant().getServer() + "/" + use.getGrant().getGpu(),
            Amounts.bytes(use.getGrant().getMemoryBytes()),
            compute(lease, use),
            Amounts.bytes(use.getUsedMemoryBytes()),
            HolderText.of(lease.getHolder()),
            Amounts.rate(callsPerSecond(pool, lease)),
            Amounts.age(lease.getAgeMillis()),
            JsonForm.text(lease.getState()));
      }
      for (SessionInfo session : pool.sessions()) {
        if (session.getLeaseId().equals(lease.getId())) {
          leases.row(
              "  program",
              "",
              session.getServer(),
              "",
              "",
              memory(session),
              HolderText.of(session.getClient()),
              Amounts.rate(session.getCallsPerSecond()),
              Amounts.age(session.getAgeMillis()),
              JsonForm.text(session.getState()));
        }
      }
    }
    return leases;
  }

  /** Describes a program's use of its GPUs, and how much of it is the driver's own. */
  private static String memory(SessionInfo session) {
    String used =
        Amounts.bytes(session.getUsedMemoryBytesList().stream().mapToLong(Long::longValue).sum());
    return session.getDriverMemoryBytes() == 0
        ? used
        : used + ", driver " + Amounts.bytes(session.getDriverMemoryBytes());
  }

  /**
   * Returns how many GPUs are leased, a fraction counting as the larger of its memory and compute.
   */
  private static String allocated(List<GpuInfo> gpus) {
    double leased = gpus.stream().mapToDouble(TopCommand::leased).sum();
    return String.format(
        Locale.ROOT, "%.2f (%.0f%%)", leased, gpus.isEmpty() ? 0 : 100 * leased / gpus.size());
  }

  private static double leased(GpuInfo gpu) {
    double memory = (double) gpu.getFreeMemoryBytes() / Math.max(1, gpu.getMemoryBytes());
    return 1 - Math.min(memory, gpu.getFreeComputePercent() / 100);
  }

  /** Granted, in which way, and used in the last seconds. */
  private static String compute(LeaseInfo lease, GrantUse use) {
    return Amounts.percent(use.getGrant().getComputePercent())
        + (use.getGrant().getHard() ? " hard" : "")
        + (lease.getClass_() == LeaseClass.LEASE_CLASS_LATENCY ? " latency" : "")
        + ", used "
        + Amounts.percent(Math.round(use.getUsedComputePercent()));
  }

  private static double callsPerSecond(PoolSnapshot pool, LeaseInfo lease) {
    return pool.sessions().stream()
        .filter(session -> session.getLeaseId().equals(lease.getId()))
        .mapToDouble(SessionInfo::getCallsPerSecond)
        .sum();
  }

  private static String bar(GpuInfo gpu) {
    double leased = 1 - (double) gpu.getFreeMemoryBytes() / Math.max(1, gpu.getMemoryBytes());
    int filled = (int) Math.round(leased * BAR_WIDTH);
    return "["
        + "#".repeat(filled)
        + ".".repeat(BAR_WIDTH - filled)
        + "] "
        + Amounts.percent(Math.round(leased * 100));
  }
}
