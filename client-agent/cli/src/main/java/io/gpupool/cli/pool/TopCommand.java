// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import static io.gpupool.cli.table.LeaseRow.cell;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.HolderText;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.cli.lease.LeaseCommand;
import io.gpupool.cli.table.ColumnTable;
import io.gpupool.cli.table.LeaseRow;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.Column;
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

  /** Returns one line for each server, and one for all of them. */
  private static Table servers(PoolSnapshot pool) {
    Table servers =
        ColumnTable.of(Column.View.VIEW_TOP, ServerInfo.getDefaultInstance())
            .declared("SERVER", "ADDRESS", "STATE", "BACKEND", "GPUS")
            .column("ALLOCATED", server -> allocated(gpusOf(server, pool)))
            .declared("LEASES", "SESSIONS", "UP")
            .table(pool.servers());
    servers.row(
        "all " + pool.servers().size(),
        "",
        "",
        "",
        pool.gpus().size(),
        allocated(pool.gpus()),
        pool.leases().size(),
        pool.sessions().size());
    return servers;
  }

  private static List<GpuInfo> gpusOf(ServerInfo server, PoolSnapshot pool) {
    return pool.gpus().stream().filter(gpu -> gpu.getServer().equals(server.getName())).toList();
  }

  private static Table gpus(PoolSnapshot pool) {
    return ColumnTable.of(Column.View.VIEW_TOP, GpuInfo.getDefaultInstance())
        .column("GPU", GpuPlace::of)
        .declared("NAME", "MEMORY")
        .column("FREE", FreeText::memory)
        .column("COMPUTE FREE", FreeText::compute)
        .column(
            "LEASED",
            gpu -> gpu.getProblem().isEmpty() ? bar(gpu) : "unhealthy: " + gpu.getProblem())
        .table(pool.gpus());
  }

  /** Returns the leases, and under each its programs. */
  private static Table leases(PoolSnapshot pool) {
    return ColumnTable.of(
            Column.View.VIEW_TOP,
            List.of(
                LeaseInfo.getDescriptor(), GrantUse.getDescriptor(), SessionInfo.getDescriptor()),
            LeaseRow::messages)
        .column("LEASE", cell(share -> share.lease().getId(), session -> "  program"))
        .declared("TENANT")
        .column("GPU", cell(LeaseRow.Share::place, SessionInfo::getServer))
        .column(
            "SHARE",
            cell(share -> Amounts.bytes(share.use().getGrant().getMemoryBytes()), session -> ""))
        .column("COMPUTE", cell(share -> compute(share.lease(), share.use()), session -> ""))
        .column(
            "USED",
            cell(share -> Amounts.bytes(share.use().getUsedMemoryBytes()), TopCommand::memory))
        .column(
            "HOLDER",
            cell(
                share -> HolderText.of(share.lease().getHolder()),
                session -> HolderText.of(session.getClient())))
        .column(
            "CALLS",
            cell(
                share -> Amounts.rate(callsPerSecond(pool, share.lease())),
                session -> Amounts.rate(session.getCallsPerSecond())))
        .declared("AGE", "STATE")
        .table(LeaseRow.of(pool));
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

  /** Describes the compute of a share: granted, in which way, and used in the last seconds. */
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
