// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.server;

import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.UncordonServerRequest;
import io.gpupool.json.JsonForm;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool server drain} and {@code uncordon}. */
public final class ServerDrain {
  private ServerDrain() {}

  /** {@code gpupool server drain}. */
  @Command(
      name = "drain",
      description = {
        "Takes a server out of service: it grants nothing more. Its leases go on until they end,"
            + " or",
        "until the deadline; with --move, they move to other servers meanwhile. This lasts over a",
        "restart of the server."
      })
  public static final class Drain extends PoolCommand {
    @Parameters(index = "0", paramLabel = "SERVER", description = "its name, as 'top' shows it")
    private String name;

    @Option(
        names = "--deadline",
        paramLabel = "DURATION",
        description = "when leases that are left are ended, such as 30m; 0s: at once")
    private @Nullable String deadline;

    @Option(
        names = "--move",
        description = {
          "move the leases that can move to other servers of the pool, as there is room, and wait"
              + " for",
          "that; it goes on if this command is stopped"
        })
    private boolean move;

    @Override
    protected int ask(PoolClient client) throws InterruptedException {
      DrainServerRequest.Builder request =
          DrainServerRequest.newBuilder().setName(name).setMove(move);
      if (deadline != null) {
        request.setDeadlineMillis(LeaseOptions.duration(deadline).toMillis());
      }
      ServerInfo drained = client.admin().drainServer(request.build());
      ServerInfo server =
          move ? new DrainProgress(client, this::printLine).follow(drained) : drained;
      print(server, () -> table(server));
      return 0;
    }

    private void printLine(String line) {
      if (!json()) {
        System.out.println(line);
      }
    }
  }

  /** {@code gpupool server uncordon}. */
  @Command(name = "uncordon", description = "Puts a server that was drained back into service.")
  public static final class Uncordon extends PoolCommand {
    @Parameters(index = "0", paramLabel = "SERVER", description = "its name, as 'top' shows it")
    private String name;

    @Override
    protected int ask(PoolClient client) {
      ServerInfo server =
          client.admin().uncordonServer(UncordonServerRequest.newBuilder().setName(name).build());
      print(server, () -> table(server));
      return 0;
    }
  }

  private static String table(ServerInfo server) {
    Table table = new Table("SERVER", "STATE", "LEASES", "UNTIL");
    table.row(
        server.getName(),
        JsonForm.text(server.getState()),
        server.getLeases(),
        server.getDrainDeadlineAtMillis() == 0
            ? ""
            : Instant.ofEpochMilli(server.getDrainDeadlineAtMillis()).toString());
    return table.toString();
  }
}
