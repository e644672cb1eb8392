// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import com.google.gson.JsonObject;
import io.gpupool.cli.Amounts;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.HolderText;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.cli.table.ColumnTable;
import io.gpupool.cli.table.LeaseRow;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.Column;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.JsonForm;
import io.gpupool.rejection.RejectionText;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool lease}. */
@Command(
    name = "lease",
    description =
        "Shows leases and who waits for one, changes, moves, suspends, resumes and ends leases.",
    subcommands = {
      LeaseCommand.Listing.class,
      LeaseCommand.Queue.class,
      LeaseCommand.Get.class,
      LeaseRequestCommand.class,
      LeaseUpdateCommand.class,
      LeaseMoveCommand.class,
      LeaseSuspendCommand.class,
      LeaseResumeCommand.class,
      LeaseCommand.Release.class
    },
    synopsisSubcommandLabel = "COMMAND")
public final class LeaseCommand {
  /** {@code gpupool lease list}. */
  @Command(name = "list", description = "Lists the leases of the pool and who holds them.")
  static final class Listing extends PoolCommand {
    @Override
    protected int ask(PoolClient client) {
      List<LeaseInfo> leases =
          client.blocking().listLeases(ListRequest.getDefaultInstance()).getLeasesList();
      if (json()) {
        System.out.println(JsonForm.text(JsonForm.of(leases)));
        return 0;
      }
      System.out.print(table(leases));
      return 0;
    }

    private static Table table(List<LeaseInfo> leases) {
      return ColumnTable.of(
              Column.View.VIEW_LIST,
              List.of(LeaseInfo.getDescriptor(), GrantUse.getDescriptor()),
              LeaseRow.Share::messages)
          .declared("LEASE", "STATE", "TENANT")
          .column("GPU", LeaseRow.Share::place)
          .column("MEMORY", share -> Amounts.bytes(share.use().getGrant().getMemoryBytes()))
          .column("USED", share -> Amounts.bytes(share.use().getUsedMemoryBytes()))
          .declared("CLASS")
          .column("HOLDER", share -> HolderText.of(share.lease().getHolder()))
          .declared("SESSIONS", "AGE")
          .table(leases.stream().flatMap(lease -> LeaseRow.sharesOf(lease).stream()).toList());
    }
  }

  /** {@code gpupool lease get}. */
  @Command(name = "get", description = "Shows one lease: its parts, its sessions, its holder.")
  static final class Get extends PoolCommand {
    @Parameters(index = "0", paramLabel = "LEASE", description = "its id, such as L12")
    private String id;

    @Override
    protected int ask(PoolClient client) {
      ListRequest all = ListRequest.getDefaultInstance();
      LeaseInfo lease =
          client.blocking().listLeases(all).getLeasesList().stream()
              .filter(l -> l.getId().equals(id))
              .findFirst()
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "there is no lease '"
                          + id
                          + "'; 'gpupool lease list' shows those there are"));
      List<SessionInfo> sessions =
          client.blocking().listSessions(all).getSessionsList().stream()
              .filter(session -> session.getLeaseId().equals(id))
              .toList();
      print(() -> json(lease, sessions), () -> describe(lease, sessions));
      return 0;
    }

    private static JsonObject json(LeaseInfo lease, List<SessionInfo> sessions) {
      JsonObject json = new JsonObject();
      json.add("lease", JsonForm.of(lease));
      json.add("sessions", JsonForm.of(sessions));
      return json;
    }

    private static String describe(LeaseInfo lease, List<SessionInfo> sessions) {
      Table head =
          new Table(
              "LEASE",
              "STATE",
              "TENANT",
              "CLASS",
              "HOLDER",
              "AGE",
              "IDLE",
              "IDLE TIMEOUT",
              "TIME LIMIT",
              "RESUME WINDOW");
      head.row(
          lease.getId(),
          JsonForm.text(lease.getState()),
          lease.getTenant(),
          JsonForm.text(lease.getClass_()),
          HolderText.of(lease.getHolder()),
          Amounts.age(lease.getAgeMillis()),
          Amounts.age(lease.getIdleMillis()),
          limit(lease.getIdleTimeoutMillis()),
          limit(lease.getTimeLimitMillis()),
          limit(lease.getResumeWindowMillis()));
      Table grants = new Table("GPU", "PARTITION", "MEMORY", "USED", "COMPUTE", "KIND");
      for (GrantUse use : lease.getGrantsList()) {
        grants.row(
            GpuPlace.of(use.getGrant()),
            use.getGrant().getPartition(),
            Amounts.bytes(use.getGrant().getMemoryBytes()),
            Amounts.bytes(use.getUsedMemoryBytes()),
            Amounts.percent(use.getGrant().getComputePercent()),
            use.getGrant().getHard() ? "hard" : "lendable");
      }
      Table running =
          ColumnTable.of(Column.View.VIEW_LIST, SessionInfo.getDefaultInstance())
              .column(
                  "SESSION",
                  session -> session.getId().substring(0, Math.min(8, session.getId().length())))
              .declared("STATE", "RESUME LEFT")
              .column("PROGRAM", session -> HolderText.of(session.getClient()))
              .declared("CALLS", "LAST ERROR", "AGE")
              .table(sessions);
      return head + "\n" + grants + (running.isEmpty() ? "" : "\n" + running);
    }
  }

  private static String limit(long millis) {
    return millis == 0 ? "none" : Amounts.age(millis);
  }

  /** {@code gpupool lease release}. */
  @Command(
      name = "release",
      description = {
        "Ends leases of one's own tenant, or as an admin any: their programs lose them. Takes",
        "requests that wait out of the queue in the same way."
      })
  static final class Release extends PoolCommand {
    @Parameters(arity = "1..*", paramLabel = "LEASE", description = "ids, such as L12 or Q7")
    private List<String> ids;

    @Option(
        names = "--reason",
        paramLabel = "TEXT",
        description = "reason, as their holders see it")
    private String reason = "";

    @Override
    protected int ask(PoolClient client) {
      for (String id : ids) {
        client
            .blocking()
            .releaseLease(
                ReleaseLeaseRequest.newBuilder().setLeaseId(id).setReason(reason).build());
        System.out.print(json() ? "" : id + " released\n");
      }
      if (json()) {
        System.out.println("{}");
      }
      return 0;
    }
  }

  /** {@code gpupool lease queue}. */
  @Command(name = "queue", description = "Lists who waits for a lease, in the order of turns.")
  public static final class Queue extends PoolCommand {
    @Override
    protected int ask(PoolClient client) {
      List<QueueInfo> requests =
          client.blocking().listQueue(ListRequest.getDefaultInstance()).getRequestsList();
      print(requests, () -> table(requests));
      return 0;
    }

    public static String table(List<QueueInfo> requests) {
      return ColumnTable.of(Column.View.VIEW_LIST, QueueInfo.getDefaultInstance())
          .declared("PLACE", "REQUEST", "PRIORITY")
          .column("HOLDER", request -> HolderText.of(request.getHolder()))
          .declared("WAITED", "WANTS")
          .column("REASON", request -> RejectionText.of(request.getReason()))
          .table(requests)
          .toString();
    }
  }
}
