// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool lease move}. */
@Command(
    name = "move",
    description = {
      "Moves a lease of one's own tenant, or as an admin any, with its running programs to another",
      "GPU of the same model. Its programs stand still meanwhile. A lease that cannot move goes on",
      "where it is."
    })
final class LeaseMoveCommand extends PoolCommand {
  /** Longer than the pool lets a move take. */
  private static final long LIMIT_SECONDS = 150;

  @Parameters(index = "0", paramLabel = "LEASE", description = "its id, such as L12")
  private String id;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "SERVER[/GPU]",
      description = "the server, and the GPU there, such as gpu-3/1 (else whichever fits best)")
  private String to;

  @Override
  protected int ask(PoolClient client) {
    MoveLeaseReply moved =
        client.blocking().withDeadlineAfter(LIMIT_SECONDS, TimeUnit.SECONDS).moveLease(request());
    print(moved, () -> table(moved));
    return 0;
  }

  /**
   * Returns what the options say.
   *
   * @throws IllegalArgumentException if the place is none
   */
  private MoveLeaseRequest request() {
    int slash = to.lastIndexOf('/');
    MoveLeaseRequest.Builder request = MoveLeaseRequest.newBuilder().setLeaseId(id);
    if (slash < 0) {
      return request.setServer(to).build();
    }
    try {
      return request
          .setServer(to.substring(0, slash))
          .setGpu(Integer.parseUnsignedInt(to.substring(slash + 1)))
          .build();
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "'" + to + "' is no place; give --to SERVER or --to SERVER/GPU, such as gpu-3/1", e);
    }
  }

  private String table(MoveLeaseReply moved) {
    Table table = new Table("LEASE", "FROM", "TO", "SESSIONS", "BYTES", "PAUSE");
    table.row(
        id,
        GpuPlace.of(moved.getFrom()),
        GpuPlace.of(moved.getTo()),
        Integer.toString(moved.getSessions()),
        Amounts.bytes(moved.getBytes()),
        moved.getPauseMillis() + " ms");
    return table.toString();
  }
}
