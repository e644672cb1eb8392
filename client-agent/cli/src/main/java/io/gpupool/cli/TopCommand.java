// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code gpupool top}: servers, GPUs, their fractions, who holds them and who waits. */
@Command(
    name = "top",
    description = "Shows servers, GPUs, the fractions leased, who holds them and who waits.")
final class TopCommand extends PoolCommand {
  private static final int BAR_WIDTH = 20;
  private static final String CLEAR = "\033[H\033[2J";

  @Option(names = "--watch", description = "draws anew every two seconds, until interrupted")
  private boolean watch;

  @Override
  int ask(PoolClient client) throws Exception {
    do {
      PoolSnapshot pool = PoolSnapshot.of(client);
      String text = json() ? pool.json() + "\n" : draw(pool);
      System.out.print(watch && !json() ? CLEAR + text : text);
      System.out.flush();
      if (watch) {
        Thread.sleep(2000);
      }
    } while (watch);
    return 0;
  }

  static String draw(PoolSnapshot pool) {
    Table servers = new Table("SERVER", "BACKEND", "GPUS", "LEASES", "SESSIONS", "UP");
    for (ServerInfo server : pool.servers()) {
      servers.row(
          server.getName(),
          server.getBackend(),
          server.getGpus(),
          server.getLeases(),
          server.getSessions(),
          Amounts.age(server.getUpMillis()));
    }
    Table gpus = new Table("GPU", "NAME", "MEMORY", "FREE", "COMPUTE FREE", "LEASED");
    for (GpuInfo gpu : pool.gpus()) {
      gpus.row(
          gpu.getServer() + "/" + gpu.getGpu(),
          gpu.getName(),
          Amounts.bytes(gpu.getMemoryBytes()),
          Amounts.bytes(gpu.getFreeMemoryBytes()),
          Amounts.percent(gpu.getFreeComputePercent()),
          bar(gpu));
    }
    Table leases =
        new Table("LEASE", "GPU", "SHARE", "COMPUTE", "USED", "HOLDER", "CALLS", "AGE", "STATE");
    for (LeaseInfo lease : pool.leases()) {
      for (GrantUse use : lease.getGrantsList()) {
        leases.row(
            lease.getId(),
            use.getGrant().getServer() + "/" + use.getGrant().getGpu(),
            Amounts.bytes(use.getGrant().getMemoryBytes()),
            compute(use),
            Amounts.bytes(use.getUsedMemoryBytes()),
            holder(lease.getHolder()),
            Amounts.rate(callsPerSecond(pool, lease)),
            Amounts.age(lease.getAgeMillis()),
            lease.getState());
      }
    }
    String waiting = pool.queue().isEmpty() ? "" : "\n" + LeaseCommand.Queue.table(pool.queue());
    return servers
        + "\n"
        + gpus
        + "\n"
        + (leases.isEmpty() ? "no leases\n" : leases.toString())
        + waiting;
  }

  /** Granted, and used in the last seconds. */
  private static String compute(GrantUse use) {
    return Amounts.percent(use.getGrant().getComputePercent())
        + (use.getGrant().getHard() ? " hard" : "")
        + ", used "
        + Amounts.percent(Math.round(use.getUsedComputePercent()));
  }

  private static double callsPerSecond(PoolSnapshot pool, LeaseInfo lease) {
    return pool.sessions().stream()
        .filter(session -> session.getLeaseId().equals(lease.getId()))
        .mapToDouble(SessionInfo::getCallsPerSecond)
        .sum();
  }

  static String holder(Holder holder) {
    return holder.getUser()
        + "@"
        + holder.getHost()
        + " "
        + holder.getPid()
        + " "
        + holder.getProgram();
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
