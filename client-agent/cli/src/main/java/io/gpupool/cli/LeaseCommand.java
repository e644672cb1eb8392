// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolClient;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.QueueInfo;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code gpupool lease}. */
@Command(
    name = "lease",
    description = "Shows leases, and who waits for one.",
    subcommands = {LeaseCommand.Listing.class, LeaseCommand.Queue.class},
    synopsisSubcommandLabel = "COMMAND")
final class LeaseCommand {
  /** {@code gpupool lease list}. */
  @Command(name = "list", description = "Lists the leases of the pool and who holds them.")
  static final class Listing extends PoolCommand {
    @Override
    int ask(PoolClient client) {
      List<LeaseInfo> leases =
          client.blocking().listLeases(ListRequest.getDefaultInstance()).getLeasesList();
      if (json()) {
        System.out.println(Json.of(leases));
        return 0;
      }
      Table table =
          new Table("LEASE", "STATE", "GPU", "MEMORY", "USED", "HOLDER", "SESSIONS", "AGE");
      for (LeaseInfo lease : leases) {
        for (GrantUse use : lease.getGrantsList()) {
          table.row(
              lease.getId(),
              lease.getState(),
              use.getGrant().getServer() + "/" + use.getGrant().getGpu(),
              Amounts.bytes(use.getGrant().getMemoryBytes()),
              Amounts.bytes(use.getUsedMemoryBytes()),
              TopCommand.holder(lease.getHolder()),
              lease.getSessions(),
              Amounts.age(lease.getAgeMillis()));
        }
      }
      System.out.print(table);
      return 0;
    }
  }

  /** {@code gpupool lease queue}. */
  @Command(name = "queue", description = "Lists who waits for a lease, in the order of turns.")
  static final class Queue extends PoolCommand {
    @Override
    int ask(PoolClient client) {
      List<QueueInfo> requests =
          client.blocking().listQueue(ListRequest.getDefaultInstance()).getRequestsList();
      System.out.print(json() ? Json.of(requests) + "\n" : table(requests));
      return 0;
    }

    static String table(List<QueueInfo> requests) {
      Table table =
          new Table("PLACE", "REQUEST", "PRIORITY", "HOLDER", "WAITED", "WANTS", "REASON");
      for (QueueInfo request : requests) {
        table.row(
            request.getPosition(),
            request.getId(),
            request.getPriority(),
            TopCommand.holder(request.getHolder()),
            Amounts.age(request.getWaitedMillis()),
            request.getWanted(),
            request.getReason());
      }
      return table.toString();
    }
  }
}
